/** The OAuth scopes of the account itself. They need no package: every customer manages an account. */

import type { OauthScopeDefinition } from "../kernel/principal.ts";
import { memberRoles } from "./roles.ts";

export const accountScopes = {
  "account:read": {
    description: "Read the account, its members, sessions and clients",
    roles: memberRoles,
    anyPackage: true,
  },
  "account:write": {
    description: "Change the account, its members, sessions and clients",
    roles: ["owner", "manager"],
    anyPackage: true,
  },
} as const satisfies Record<string, OauthScopeDefinition>;
