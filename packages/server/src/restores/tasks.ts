/** The background work of restores. */

import { recurring } from "../kernel/jobs/index.ts";
import { endRestores, prepareRestore } from "./jobs.ts";
import { planOrder } from "./plan-order.ts";

const minuteMs = 60_000;

export const restoreTasks = [prepareRestore, planOrder];
export const restoreRecurrences = [recurring(endRestores, { everyMs: minuteMs })];
