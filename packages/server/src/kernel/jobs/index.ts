/**
 * Jobs: work that a transaction enqueues and a worker does later, outside any request, at least once.
 *
 * Owns the tables `emanet.jobs` and `emanet.job_workers` and the schema `graphile_worker`. A job is a row of
 * `emanet.jobs`. graphile-worker has only pointers to the rows that are due. The application's clock decides what is due:
 * jobs for later and retries wait in our table and get their pointer at their time.
 *
 * | file | what |
 * |---|---|
 * | task.ts | what a task is, its retries, recurring tasks |
 * | enqueue.ts | writing a job inside a transaction of the application role |
 * | sealed.ts | encrypted payloads |
 * | list.ts | the queue as staff see it |
 * | outcome.ts | what happens to a job after an attempt; pure functions |
 * | store.ts | all SQL on jobs, as the owner |
 * | execute.ts | one attempt, from pointer to outcome |
 * | worker-session.ts, lease.ts | one session of a worker, and the lease that shows that it is alive |
 * | recovery.ts | how the jobs of stopped and dead workers are given back |
 * | queue.ts | graphile-worker, which brings pointers to a session |
 * | worker.ts | keeps a session, promotes due jobs, sweeps for dead workers |
 * | upkeep.ts, migrate.ts | deletes old failed jobs; the schema of graphile-worker |
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
