/** The OAuth scopes of snapshots. */

import type { OauthScopeDefinition } from "../kernel/principal.ts";

export const snapshotScopes = {
  "snapshots:read": {
    description: "Read snapshots, vaults, sources and files",
    roles: ["owner", "manager", "operator", "viewer"],
  },
  "snapshots:write": {
    description: "Create snapshots and upload their files",
    roles: ["owner", "manager", "operator"],
  },
} as const satisfies Record<string, OauthScopeDefinition>;
