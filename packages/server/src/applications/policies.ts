/** The limit of applications. */

import { type Policy, windowPolicy } from "../kernel/limits/policies.ts";

const hourMs = 60 * 60 * 1000;

export const applicationPolicies = {
  applications: windowPolicy("in_force", "address", 5, hourMs, "refuse"),
} as const satisfies Record<string, Policy>;
