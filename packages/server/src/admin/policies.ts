/** The limit of what staff read. */

import { type Policy, windowPolicy } from "../kernel/limits/policies.ts";

const minuteMs = 60_000;

export const adminPolicies = {
  admin: windowPolicy("in_force", "staff", 60, minuteMs, "process"),
} as const satisfies Record<string, Policy>;
