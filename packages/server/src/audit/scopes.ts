/** The OAuth scope of the audit trail. */

import type { OauthScopeDefinition } from "../kernel/principal.ts";

export const auditScopes = {
  "audit:read": { description: "Read and export the audit log", roles: ["owner", "manager", "auditor"] },
} as const satisfies Record<string, OauthScopeDefinition>;
