/** The background work of recovery. */

import { recurring } from "../kernel/jobs/index.ts";
import { beatStore, writeRecords } from "./write-records.ts";

/** What changed within the last minute before a loss is lost with it. A beat is one small object. */
const minuteMs = 60_000;

export const recoveryRecurrences = [
  recurring(writeRecords, { everyMs: minuteMs }),
  recurring(beatStore, { everyMs: minuteMs }),
];
