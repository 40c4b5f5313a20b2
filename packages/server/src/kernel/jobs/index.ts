/**
 * Jobs: work that a transaction enqueues and a worker does later, at least once. Owns the table `emanet.jobs`, which is the
 * queue, and the channel `emanet_jobs`. Every unfinished or failed job is one row; a job that is done has none.
 */

export { enqueueJob, type JobRequest } from "./enqueue.ts";
export * from "./read.ts";
export { countJobs } from "./store.ts";
export * from "./task.ts";
export { Worker } from "./worker.ts";
