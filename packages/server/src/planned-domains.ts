/**
 * What the published contract already names for domains that are not built yet: their OAuth scopes, policies and error
 * codes. Clients may ask for these scopes today, and the documents list the codes. When a domain is built, its lines move
 * to its own `scopes.ts`, `policies.ts` and `problems.ts`.
 */

import { type Policy, windowPolicy } from "./kernel/limits/policies.ts";
import type { OauthScopeDefinition } from "./kernel/principal.ts";
import { type ProblemDefinition, problem } from "./kernel/problems.ts";

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;

/** Restores and audit. */
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
  "audit:read": { description: "Read and export the audit log", roles: ["owner", "manager", "auditor"] },
} as const satisfies Record<string, OauthScopeDefinition>;

export const plannedPolicies = {
  restore_create: windowPolicy("endpoint", "account", 10, hourMs, "process"),
  audit_export: windowPolicy("endpoint", "account", 5, dayMs, "process"),
} as const satisfies Record<string, Policy>;

// biome-ignore format: one code per line, so that the catalogue reads as a table
export const plannedProblems = {
  share_revoked: problem(410, ["Share ended", "This share was revoked or has expired."], ["Paylaşım sona erdi", "Bu paylaşım geri alındı ya da süresi doldu."]),
} as const satisfies Record<string, ProblemDefinition>;
