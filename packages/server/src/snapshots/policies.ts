/** The limits of the operations that list, create and verify snapshots. Reading one snapshot has no limit of its own. */

import { type Policy, windowPolicy } from "../kernel/limits/policies.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export const snapshotPolicies = {
  snapshots_list: windowPolicy("in_force", "account", 60, minuteMs, "process"),
  snapshots_create: windowPolicy("in_force", "account", 10, minuteMs, "process"),
  snapshots_create_hour: windowPolicy("endpoint", "account", 30, hourMs, "process"),
  // Reads as much from the store as a restore of the whole snapshot, so as many as of these.
  snapshots_verify: windowPolicy("endpoint", "account", 10, hourMs, "process"),
} as const satisfies Record<string, Policy>;
