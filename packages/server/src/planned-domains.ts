/**
 * What the published contract already names for domains that are not built yet: their OAuth scopes and policies. Clients
 * may ask for these scopes today. When a domain is built, its lines move to its own `scopes.ts` and `policies.ts`.
 */

import { type Policy, windowPolicy } from "./kernel/limits/policies.ts";
import type { OauthScopeDefinition } from "./kernel/principal.ts";

const hourMs = 60 * 60_000;

/** Restores. */
export const plannedScopes = {
  "restores:read": {
    description: "Read restores and download their files",
    roles: ["owner", "manager", "operator", "viewer"],
  },
  "restores:write": { description: "Start and cancel restores", roles: ["owner", "manager", "operator"] },
  "restores:agent": {
    description: "Restore files onto a machine that runs the agent",
    roles: ["owner", "manager", "operator"],
  },
} as const satisfies Record<string, OauthScopeDefinition>;

export const plannedPolicies = {
  restore_create: windowPolicy("endpoint", "account", 10, hourMs, "process"),
} as const satisfies Record<string, Policy>;
