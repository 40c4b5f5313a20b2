/** The background work of the audit trail. */

import { recurring } from "../kernel/jobs/index.ts";
import { checkpointAct, checkpointChanges, removeExpiredExports, storeCheckpoints } from "./jobs.ts";

const hourMs = 60 * 60_000;

export const auditTasks = [checkpointAct, storeCheckpoints];
export const auditRecurrences = [
  recurring(checkpointChanges, { everyMs: hourMs }),
  recurring(removeExpiredExports, { everyMs: hourMs }),
];
