/** A restore worker as a thread: runs jobs one after the other. */

import { parentPort, workerData } from "node:worker_threads";
import type { InflatePartsJob, InflatePartsResult } from "./inflate-parts.ts";
import { inflateParts } from "./inflate-parts.ts";
import type { OpenFramesJob, OpenFramesResult } from "./open-frames.ts";
import { openFrames, transferableFrames } from "./open-frames.ts";
import type { RestoreJob, RestoreJobResult } from "./restore-job.ts";
import { writeFrames } from "./restore-worker.ts";
import type { SealBlocksJob, SealBlocksResult } from "./seal-blocks.ts";
import { sealBlocks } from "./seal-blocks.ts";

export type WorkerJob =
  | (RestoreJob & { readonly kind: "write" })
  | (OpenFramesJob & { readonly kind: "open" })
  | (SealBlocksJob & { readonly kind: "seal" })
  | (InflatePartsJob & { readonly kind: "inflate" });
export type WorkerResult = RestoreJobResult | OpenFramesResult | SealBlocksResult | InflatePartsResult;

/** The entry file of the thread. */
export const restoreWorkerThread = new URL(import.meta.url);

/** By this `workerData` the thread knows what it is: in a bundle one file holds all threads. */
export const restoreWorkerRole = "emanet restore worker";

export function runJob(job: WorkerJob): WorkerResult {
  if (job.kind === "seal") return sealBlocks(job);
  if (job.kind === "inflate") return inflateParts(job);
  return job.kind === "write" ? writeFrames(job) : openFrames(job);
}

/** The memory of a result, to be transferred to the thread that asked. */
function transferableMemory(result: WorkerResult): ArrayBuffer[] {
  if ("frames" in result) return transferableFrames(result);
  if (!("sealed" in result) || typeof result.sealed === "string") return [];
  // A sealed frame has memory of its own.
  return result.sealed.buffer instanceof ArrayBuffer ? [result.sealed.buffer] : [];
}

if (parentPort !== null && workerData === restoreWorkerRole) {
  const port = parentPort;
  port.on("message", (job: WorkerJob) => {
    const result = runJob(job);
    port.postMessage(result, transferableMemory(result));
  });
}
