/**
 * Jobs: work that a transaction enqueues and a worker does later, outside any request, at least once.
 *
 * Owns the table `emanet.jobs`, which is the queue (migration 0014), and the channel `emanet_jobs`. The application's
 * clock decides what is due. Every state is one row; a job that is done has none.
 *
 * task.ts: what a task is. enqueue.ts, read.ts: for transactions. sealed.ts: encrypted payloads. worker.ts, attempt.ts,
 * outcome.ts, store.ts: what a worker does, how one attempt runs, what follows from it, and its SQL. purge.ts: old failures.
 */

export { enqueueJob, type JobExecutor, type JobRequest, maxKeyLength, maxPayloadBytes } from "./enqueue.ts";
export * from "./read.ts";
export { countJobs, type JobCounts } from "./store.ts";
export * from "./task.ts";
export { defaultConcurrency, type JobReport, startWorker, type Worker, type WorkerOptions } from "./worker.ts";
