/** The limit of the token endpoint. */

import { type Policy, windowPolicy } from "../kernel/limits/policies.ts";

const minuteMs = 60_000;

export const oauthPolicies = {
  // Counts by account once the client is authenticated. A failed request counts by address.
  token: windowPolicy("endpoint", "account", 60, minuteMs, "refuse"),
} as const satisfies Record<string, Policy>;
