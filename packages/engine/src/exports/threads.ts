/** The entry files of worker threads. In a bundle of one file its main module imports this in a thread; `workerData` says which one it is. */

export { cutWorkerRole } from "../workers/cut-worker-thread.ts";
export { restoreWorkerRole } from "../workers/restore-worker-thread.ts";
