/** The limits of exports. */

import { type Policy, windowPolicy } from "../kernel/limits/policies.ts";

const dayMs = 24 * 60 * 60_000;

export const auditPolicies = {
  audit_export: windowPolicy("endpoint", "account", 5, dayMs, "process"),
} as const satisfies Record<string, Policy>;
