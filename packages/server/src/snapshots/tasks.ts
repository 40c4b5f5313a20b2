/** The background work of snapshots. */

import { recurring } from "../kernel/jobs/index.ts";
import { endUploads, removeLeftovers, verifySnapshot } from "./jobs.ts";
import { releaseUpload } from "./release-upload.ts";
import { findVaultsToPrune, pruneVault } from "./removal.ts";

const minuteMs = 60_000;
/** What waits for 72 hours may wait an hour more. */
const pruneEveryMs = 60 * minuteMs;
const dayMs = 24 * 60 * minuteMs;

export const snapshotTasks = [verifySnapshot, releaseUpload, pruneVault];
export const snapshotRecurrences = [
  recurring(endUploads, { everyMs: minuteMs }),
  recurring(findVaultsToPrune, { everyMs: pruneEveryMs }),
  recurring(removeLeftovers, { everyMs: dayMs }),
];
