/** The limits of what sends to a receiver because a person asked, and of asking why a signature does not fit. */

import { type Policy, windowPolicy } from "../kernel/limits/policies.ts";

const minuteMs = 60_000;

export const webhookPolicies = {
  /** Test, replay, retry of all that failed. */
  webhook_sends: windowPolicy("in_force", "account", 10, minuteMs, "process"),
  webhook_verify_debug: windowPolicy("in_force", "account", 10, minuteMs, "process"),
} as const satisfies Record<string, Policy>;
