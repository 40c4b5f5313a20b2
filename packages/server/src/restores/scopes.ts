/** The OAuth scopes of restores. */

import type { OauthScopeDefinition } from "../kernel/principal.ts";

export const restoreScopes = {
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
