/**
 * One attempt of one job, from its pointer to its outcome. The function made here is what graphile-worker calls.
 *
 * Invariants: its promise resolves only when the job's row has the outcome of the attempt, because graphile-worker then
 * deletes the pointer. When the outcome cannot be written any more, the promise never resolves, and the pointer stays for
 * another worker. It never rejects, so that graphile-worker neither delays a job nor stores the text of an error.
 */

import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { Pool } from "pg";
import { type Clock, monotonicMs } from "../clock.ts";
import { errorFields, type Log } from "../log.ts";
import type { Secrets } from "../secrets.ts";
import { isUuid } from "../uuid.ts";
import { type Ending, isGivenUp, type Outcome, outcomeOf } from "./outcome.ts";
import { openPayload } from "./sealed.ts";
import { type ClaimedJob, claim, finish, type Pointer, pointerKey, putBack, recurringKey } from "./store.ts";
import { PermanentJobError, type Recurrence, type Task, TransientJobError } from "./task.ts";

/** What happened to an attempt, for metrics. */
export interface JobReport {
  readonly task: string;
  /** `given_up` is final for a job. A recurring job starts again at its next time. */
  readonly outcome: "done" | "retried" | "given_up" | "released";
  readonly durationMs: number;
}

export interface ExecutorOptions<Ports> {
  readonly pool: Pool;
  readonly workerId: string;
  readonly tasks: ReadonlyMap<string, Task<unknown, Ports>>;
  readonly recurrences: ReadonlyMap<string, Recurrence<Ports>>;
  readonly ports: Ports;
  /** Decrypts sealed payloads. */
  readonly secrets?: Secrets | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly onReport: (report: JobReport) => void;
  /** Keys of the pointers that this worker is working on. */
  readonly running: Set<string>;
  /** Aborts when no further job may start. */
  readonly closing: AbortSignal;
  /** Aborts when running jobs must end. */
  readonly ending: AbortSignal;
  /** Aborts when the session is over: nothing more is written. */
  readonly over: AbortSignal;
  /** Called when other workers have declared this one dead. */
  readonly onFenced: () => void;
}

/** A job during which this many workers died is not run again. */
export const maxCrashes = 5;
/** How long a task may continue after its signal aborted, before its attempt is ended without it. */
export const endOnSignalMs = 2_000;
/** Between attempts to write an outcome while the database does not answer. */
const storePauseMs = 500;

/** Makes the function that runs what a pointer points at. */
export function makeExecutor<Ports>(options: ExecutorOptions<Ports>): (payload: unknown) => Promise<void> {
  const { running } = options;
  return async (payload) => {
    const pointer = readPointer(payload);
    if (pointer === undefined) {
      options.log.error("job_pointer_unreadable");
      return;
    }
    const key = pointerKey(pointer);
    if (running.has(key)) return;
    running.add(key);
    try {
      await runPointer(options, pointer);
    } finally {
      running.delete(key);
    }
  };
}

async function runPointer<Ports>(options: ExecutorOptions<Ports>, pointer: Pointer): Promise<void> {
  const { pool, workerId, closing } = options;
  if (closing.aborted) return persist(options, () => putBack(pool, pointer));
  const job = await persist(options, () => claim(pool, workerId, pointer));
  if (job === "stale") return;
  if (job === "fenced") {
    options.onFenced();
    return never();
  }
  await runClaimed(options, job);
}

async function runClaimed<Ports>(options: ExecutorOptions<Ports>, job: ClaimedJob): Promise<void> {
  const { pool, workerId } = options;
  const log = options.log.child({ job: job.task, target_id: job.jobId, attempt: job.attempt });
  const task = options.tasks.get(job.task);
  assert(task, "a queue brings pointers of the tasks that it was started with");
  const startedAt = monotonicMs();
  const ending = job.crashes >= maxCrashes ? workerLost : await attempt(options, task, job, log);
  const durationMs = monotonicMs() - startedAt;
  const outcome = outcomeOf(ending, {
    number: job.attempt,
    retry: task.retry,
    recurrence: job.key === recurringKey ? options.recurrences.get(job.task) : undefined,
    now: options.clock.now(),
  });
  const written = await persist(options, () => finish(pool, workerId, job, outcome));
  if (!written) log.warn("job_claim_lost", { duration_ms: durationMs });
  else report(options, job, { ending, outcome, durationMs }, log);
}

const workerLost: Ending = { kind: "error", error: new PermanentJobError("worker_lost") };

/** Undefined for a payload that this module did not enqueue. It can be dropped. */
function readPointer(payload: unknown): Pointer | undefined {
  const { job_id: jobId, dispatch } = (payload ?? {}) as Readonly<Record<string, unknown>>;
  const ours = typeof jobId === "string" && isUuid(jobId) && Number.isInteger(dispatch);
  return ours ? { jobId, dispatch: Number(dispatch) } : undefined;
}

/** Runs the task until it ends, or until it has ignored its signal for too long. */
async function attempt<Ports>(
  { ports, secrets, clock, ending }: ExecutorOptions<Ports>,
  task: Task<unknown, Ports>,
  job: ClaimedJob,
  log: Log,
): Promise<Ending> {
  const timeUp = new AbortController();
  const timer = setTimeout(() => timeUp.abort(new TransientJobError("timeout")), task.timeoutMs);
  const signal = AbortSignal.any([ending, timeUp.signal]);
  const { jobId, attempt: number } = job;
  const payload = () => (secrets === undefined ? job.payload : openPayload(secrets, job, job.payload));
  const context = { jobId, attempt: number, signal, clock, log, ports };
  const running = Promise.try(() => task.execute(payload(), context));
  const ignored = ignoredSignal(signal);
  try {
    await Promise.race([running, ignored.promise]);
    return { kind: "ok" };
  } catch (error) {
    if (error === ignored.error) log.error("job_ignored_signal");
    if (ending.aborted) return { kind: "cut" };
    return { kind: "error", error: timeUp.signal.aborted ? timeUp.signal.reason : error };
  } finally {
    clearTimeout(timer);
    ignored.cancel();
  }
}

/** Rejects some time after a signal has aborted. */
function ignoredSignal(signal: AbortSignal) {
  const error = new Error("the task ignored its signal");
  const { promise, reject } = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const start = () => {
    timer = setTimeout(reject, endOnSignalMs, error);
  };
  signal.addEventListener("abort", start, { once: true });
  if (signal.aborted) start();
  const cancel = () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", start);
  };
  return { promise, error, cancel };
}

interface Ended {
  readonly ending: Ending;
  readonly outcome: Outcome;
  readonly durationMs: number;
}

function report<Ports>(options: ExecutorOptions<Ports>, job: ClaimedJob, ended: Ended, log: Log): void {
  const { ending, outcome, durationMs } = ended;
  const fields = { duration_ms: durationMs, ...(ending.kind === "error" ? errorFields(ending.error) : {}) };
  const send = (word: JobReport["outcome"]) => {
    try {
      options.onReport({ task: job.task, outcome: word, durationMs });
    } catch (error) {
      // A failing listener does not change the outcome of the job.
      log.error("job_report_failed", errorFields(error));
    }
  };
  if (isGivenUp(outcome)) {
    log.error("job_given_up", { ...fields, reason: outcome.error.code });
    send("given_up");
  } else if (ending.kind === "error") {
    log.warn("job_retried", fields);
    send("retried");
  } else if (ending.kind === "cut") {
    log.info("job_released", fields);
    send("released");
  } else {
    log.info("job_done", fields);
    send("done");
  }
}

/** Repeats a statement until it succeeds. Its promise never resolves once the session is over; see the header. */
async function persist<T>(
  { over, log }: Pick<ExecutorOptions<never>, "over" | "log">,
  work: () => Promise<T>,
): Promise<T> {
  while (!over.aborted) {
    try {
      return await work();
    } catch (error) {
      log.warn("job_store_failed", errorFields(error));
      await delay(storePauseMs);
    }
  }
  return never();
}

function never(): Promise<never> {
  return new Promise(() => {});
}
