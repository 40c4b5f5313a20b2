/** The background work of snapshots file by file. */

import { recurring } from "../kernel/jobs/index.ts";
import { completeSnapshot, settleFiles } from "./jobs.ts";

const minuteMs = 60_000;

export const fileTasks = [completeSnapshot];
export const fileRecurrences = [recurring(settleFiles, { everyMs: minuteMs })];
