/**
 * Jobs: work that is written down in the transaction that needs it and done later, outside any request, at least once.
 *
 * Owns the tables `emanet.jobs` and `emanet.job_workers` and the schema `graphile_worker`. A job is a row of
 * `emanet.jobs`; graphile-worker only carries pointers to the rows that are due. What is due is decided by the
 * application's clock: jobs for later and retries wait in our table and are handed over when the clock says so.
 *
 * | file | what |
 * |---|---|
 * | task.ts | what a task is, its retries, recurring tasks |
 * | enqueue.ts | writing a job inside a transaction of the application role |
 * | sealed.ts | payloads that the table must not tell |
 * | list.ts | the queue as staff see it |
 * | outcome.ts | what becomes of a job after an attempt: pure |
 * | store.ts | all SQL on jobs, as the owner |
 * | execute.ts | one attempt, from pointer to outcome |
 * | life.ts, lease.ts, recovery.ts | a worker's life, the proof of it, and what follows its death |
 * | queue.ts | graphile-worker, which brings pointers to a life |
 * | worker.ts | keeps lives, promotion and sweeps going |
 * | upkeep.ts, migrate.ts | housekeeping; graphile-worker's schema |
 */

export { enqueueJob, type JobExecutor, type JobRequest, maxKeyLength, maxPayloadBytes } from "./enqueue.ts";
export type { JobReport } from "./execute.ts";
export { type JobState, jobStates, type ListedJob, listJobs } from "./list.ts";
export { migrateJobs } from "./migrate.ts";
export { countJobs, type JobCounts } from "./store.ts";
export {
  defaultTimeoutMs,
  type JobContext,
  noPayload,
  PermanentJobError,
  type Recurrence,
  type RetrySchedule,
  recurring,
  retryAfter,
  type Task,
  type TaskSpec,
  TransientJobError,
  task,
} from "./task.ts";
export { failedJobKeptMs, failedPayloadKeptMs } from "./upkeep.ts";
export { defaultConcurrency, defaultDrainMs, startWorker, type Worker, type WorkerOptions } from "./worker.ts";
