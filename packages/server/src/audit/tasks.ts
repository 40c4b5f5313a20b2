/** The background work of the audit trail. */

import { recurring } from "../kernel/jobs/index.ts";
import { checkChains } from "./check-job.ts";
import { eraseAccounts } from "./erase-accounts.ts";
import { checkpointAct, checkpointChanges, removeExpiredExports, storeCheckpoints } from "./jobs.ts";

const hourMs = 60 * 60_000;
/** At midnight UTC, which is three in the morning in Istanbul. */
const dayMs = 24 * hourMs;

export const auditTasks = [checkpointAct, storeCheckpoints];
export const auditRecurrences = [
  recurring(checkpointChanges, { everyMs: hourMs }),
  recurring(checkChains, { everyMs: dayMs }),
  recurring(removeExpiredExports, { everyMs: hourMs }),
  recurring(eraseAccounts, { everyMs: hourMs }),
];
