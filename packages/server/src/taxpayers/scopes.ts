/** The OAuth scopes of taxpayers. */

import type { OauthScopeDefinition } from "../kernel/principal.ts";

export const taxpayerScopes = {
  "taxpayers:read": { description: "Read taxpayers", roles: ["owner", "manager", "operator", "viewer"] },
  "taxpayers:write": { description: "Create and change taxpayers", roles: ["owner", "manager", "operator"] },
} as const satisfies Record<string, OauthScopeDefinition>;
