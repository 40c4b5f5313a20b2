/** The OAuth scopes of webhooks and events. */

import type { OauthScopeDefinition } from "../kernel/principal.ts";

export const webhookScopes = {
  "webhooks:read": { description: "Read webhooks, their deliveries and events", roles: ["owner", "manager"] },
  "webhooks:write": { description: "Create, change and delete webhooks", roles: ["owner", "manager"] },
} as const satisfies Record<string, OauthScopeDefinition>;
