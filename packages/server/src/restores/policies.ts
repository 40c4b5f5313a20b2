/** The limit of the operation that starts restores. */

import { type Policy, windowPolicy } from "../kernel/limits/policies.ts";

const hourMs = 60 * 60_000;

export const restorePolicies = {
  restore_create: windowPolicy("endpoint", "account", 10, hourMs, "process"),
} as const satisfies Record<string, Policy>;
