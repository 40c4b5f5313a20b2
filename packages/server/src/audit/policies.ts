/** The limits of exports, and of what outside auditors read. */

import { type Policy, windowPolicy } from "../kernel/limits/policies.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

export const auditPolicies = {
  audit_export: windowPolicy("endpoint", "account", 5, dayMs, "process"),
  audit_shared_export: windowPolicy("in_force", "share", 5, dayMs, "process"),
  // Every page that is read is a record of the chain.
  audit_shared_events: windowPolicy("in_force", "share", 60, minuteMs, "process"),
} as const satisfies Record<string, Policy>;
