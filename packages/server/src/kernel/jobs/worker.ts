/**
 * The worker: runs the jobs of a database, in any number of processes. One loop works in *turns*: a turn writes the
 * outcomes of jobs that ended and takes due ones. Between turns it waits for a notification, the end of a job, or the
 * moment when the next job is due. An idle worker asks the database once a minute.
 *
 * A worker is alive while its database session holds its lock (store.ts). When the session is lost, running jobs continue
 * and a new one is opened; if that takes too long, they are stopped. Workers take back the jobs of dead ones. So a job
 * runs at least once, and in one worker at a time, except for a task that ignores its signal.
 */

import { setTimeout as delay, setImmediate as nextTick } from "node:timers/promises";
import type { Pool } from "pg";
import { monotonicMs, type Random } from "../clock.ts";
import { errorFields, type Log } from "../log.ts";
import { Attempt, type AttemptOptions, endOnSignalMs } from "./attempt.ts";
import { type Ending, type Outcome, outcomeOf } from "./outcome.ts";
import { failedJobsPurge } from "./purge.ts";
import { type ClaimedJob, type EndedJob, JobStore, recurringKey } from "./store.ts";
import { PermanentJobError, priorities, type Recurrence, type Task } from "./task.ts";

export interface WorkerOptions<Ports> extends AttemptOptions<Ports> {
  /** The owner of the tables, not through a transaction pooler. */
  readonly ownerPool: Pool;
  /** All tasks that this process can run. Jobs of other tasks wait for a process that can run them. */
  readonly tasks: readonly Task<unknown, Ports>[];
  readonly recurrences?: readonly Recurrence<Ports>[];
  readonly random: Random;
  readonly log: Log;
  /** Jobs at a time; {@link defaultConcurrency} when absent. */
  readonly concurrency?: number;
  /** Called after every attempt, for metrics. */
  readonly onReport?: (report: JobReport) => void;
}

export interface JobReport {
  readonly task: string;
  readonly outcome: Outcome["name"];
  readonly durationMs: number;
}

export interface Worker {
  /** Stops: takes no more jobs, lets running ones finish for `ms`, gives the rest back. Resolves with their number. */
  drain(ms: number): Promise<number>;
}

/** Fewer than the connections of the application's pool, so that jobs cannot starve requests. */
export const defaultConcurrency = 8;
/** The longest wait of an idle worker: a machine that slept, or whose clock was set, is late by this at most. */
const idleMs = 60_000;
/** The longest wait while jobs run, a due job cannot be taken, or other workers exist; between two checks of these. */
const busyMs = 1_000;
/** Checks in a row that find a worker dead before its jobs are taken: twice the time that it has to get a new session. */
const deadAfterChecks = 6;
/** How long running jobs continue without a session, and the pause between attempts to open one. */
const regainMs = 3_000;
const regainPauseMs = 250;
/** Time to write the last outcomes of a worker that stops. Other workers take back what is not written. */
const closeMs = 5_000;
/** A job during which this many workers died is not run again: it is probably the cause. */
export const maxCrashes = 5;
/** SQLSTATE: another worker took a job with the same exclusive key at the same moment. The turn is repeated. */
const uniqueViolation = "23505";

/**
 * Starts a worker on a migrated database. Rejects when the database does not answer.
 *
 * @example
 * const worker = await startWorker({ ownerPool, tasks: [sendMessage], ports: { mail, sms }, clock, random, log });
 */
export async function startWorker<Ports>(options: WorkerOptions<Ports>): Promise<Worker> {
  const worker = new JobWorker(options);
  await worker.start();
  return worker;
}

class JobWorker<Ports> implements Worker {
  readonly #options: WorkerOptions<Ports>;
  readonly #number: number;
  readonly #tasks = new Map<string, Task<unknown, Ports>>();
  readonly #recurrences = new Map<string, Recurrence<Ports>>();
  readonly #running = new Map<string, Attempt<Ports>>();
  readonly #ended = new Map<string, EndedJob & { readonly written: () => void }>();
  /** Jobs whose cancellation arrived while a turn was on its way. */
  readonly #canceled = new Set<string>();
  /** How many checks in a row found a worker dead. */
  #dead: ReadonlyMap<number, number> = new Map();
  #othersExist = true;
  #checkedAt = 0;
  #store: JobStore | undefined;
  #regain: NodeJS.Timeout | undefined;
  #woken = Promise.withResolvers<void>();
  #stage: "open" | "stopping" | "closed" = "open";
  #released = 0;
  #loop = Promise.resolve();
  #drained: Promise<number> | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(options: WorkerOptions<Ports>) {
    this.#options = options;
    // A lock number is a positive 32-bit integer.
    this.#number = options.random.bytes(4).readUInt32BE() >>> 1;
    const recurrences = [...(options.recurrences ?? []), failedJobsPurge(options.ownerPool)];
    for (const recurrence of recurrences) this.#recurrences.set(recurrence.task.name, recurrence);
    for (const task of [...options.tasks, ...recurrences.map((recurrence) => recurrence.task)]) {
      if ((this.#tasks.get(task.name) ?? task) !== task) throw new Error(`two tasks are called ${task.name}`);
      this.#tasks.set(task.name, task);
    }
  }

  async start(): Promise<void> {
    this.#store = await this.#open();
    this.#unsubscribe = this.#options.clock.onMove?.(() => this.#woken.resolve());
    this.#loop = this.#run();
  }

  drain(ms: number): Promise<number> {
    this.#drained ??= this.#drain(ms);
    return this.#drained;
  }

  async #drain(ms: number): Promise<number> {
    this.#stage = "stopping";
    this.#unsubscribe?.();
    // A turn that is on its way may still begin jobs.
    const settled = async () => {
      while (this.#running.size > 0) await Promise.all([...this.#running.values()].map((attempt) => attempt.ended));
    };
    if (!(await within(settled(), ms))) {
      this.#stopAll();
      await within(settled(), endOnSignalMs + closeMs);
    }
    this.#stage = "closed";
    this.#woken.resolve();
    await within(this.#loop, closeMs);
    return this.#released;
  }

  async #run(): Promise<void> {
    while (this.#stage !== "closed" || (this.#ended.size > 0 && this.#store !== undefined)) {
      this.#woken = Promise.withResolvers<void>();
      const waitMs = await this.#turn().catch((error: unknown) => this.#failed(error));
      await within(this.#woken.promise, this.#stage === "closed" ? Math.min(waitMs, regainPauseMs) : waitMs);
      // Jobs that end together are written together.
      await nextTick();
    }
    clearTimeout(this.#regain);
    this.#store?.close();
  }

  /** Returns how long to wait for the next turn, if nothing happens before. */
  async #turn(): Promise<number> {
    this.#store ??= await this.#open();
    const store = this.#store;
    const { clock, log } = this.#options;
    const tasks = [...this.#tasks.keys()];
    const ended = [...this.#ended.values()];
    const limits = this.#limits();
    this.#canceled.clear();
    const { written, locked, taken } = await store.turn(ended, limits, clock.now(), tasks);
    for (const job of ended.filter(({ id }) => !locked.has(id))) {
      this.#ended.delete(job.id);
      if (written.has(job.id)) job.written();
      else log.warn("job_claim_lost", { target_id: job.id });
    }
    for (const job of taken) this.#begin(job);
    if (monotonicMs() >= this.#checkedAt + busyMs) await this.#check(store);
    const due = taken.length < limits[0] ? await store.nextDue(tasks) : undefined;
    const wait = due === undefined ? idleMs : due.getTime() - clock.now().getTime();
    const busy = wait <= 0 || this.#othersExist || this.#running.size > 0 || this.#ended.size > 0;
    return Math.min(wait > 0 ? wait : busyMs, busy ? busyMs : idleMs);
  }

  /** Free slots: in all, for priority normal and for low, which uses at most half of them. */
  #limits(): [number, number, number] {
    const { concurrency = defaultConcurrency } = this.#options;
    const free = this.#stage === "open" ? concurrency - this.#running.size : 0;
    const low = [...this.#running.values()].filter((attempt) => attempt.job.priority === priorities.low).length;
    return [free, free, Math.max(0, Math.min(free, Math.ceil(concurrency / 2) - low))];
  }

  #begin(job: ClaimedJob): void {
    const { clock } = this.#options;
    const log = this.#options.log.child({ job: job.task, target_id: job.id, attempt: job.attempt });
    const task = this.#tasks.get(job.task);
    if (task === undefined) throw new Error("a job of an unknown task was taken");
    const startedAt = monotonicMs();
    const attempt = new Attempt(task, job, log, this.#options, this.#refusal(job));
    this.#running.set(job.id, attempt);
    void attempt.ended.then((ending) => {
      const recurrence = job.key === recurringKey ? this.#recurrences.get(job.task) : undefined;
      const outcome = outcomeOf(ending, job, { retry: task.retry, recurrence, now: clock.now() });
      const report = { task: job.task, outcome: outcome.name, durationMs: monotonicMs() - startedAt };
      this.#running.delete(job.id);
      this.#ended.set(job.id, {
        id: job.id,
        row: outcome.row,
        written: () => this.#report(report, outcome, ending, log),
      });
      this.#woken.resolve();
    });
  }

  /** Why a job that was taken does not run. */
  #refusal(job: ClaimedJob): Ending | undefined {
    if (job.canceled || this.#canceled.has(job.id)) return { kind: "canceled" };
    if (job.crashes >= maxCrashes) return { kind: "error", error: new PermanentJobError("worker_lost") };
    return this.#stage === "open" ? undefined : { kind: "cut" };
  }

  #report(report: JobReport, { name, row }: Outcome, ending: Ending, log: Log): void {
    const fields = { duration_ms: report.durationMs, ...(ending.kind === "error" && errorFields(ending.error)) };
    if (name === "given_up") log.error("job_given_up", { ...fields, reason: row?.error_code ?? undefined });
    else if (name === "retried") log.warn("job_retried", fields);
    else log.info(name === "done" ? "job_done" : "job_stopped", { ...fields, reason: name });
    if (name === "released") this.#released += 1;
    try {
      this.#options.onReport?.(report);
    } catch (error) {
      // A failing listener does not change the outcome of the job.
      log.error("job_report_failed", errorFields(error));
    }
  }

  /** Once a second while there is something to check: stores progress, takes back the jobs of dead workers. */
  async #check(store: JobStore): Promise<void> {
    this.#checkedAt = monotonicMs();
    const reported = [...this.#running.values()].filter((attempt) => attempt.progress !== undefined);
    if (reported.length > 0) await store.saveProgress(reported.map((attempt) => attempt.takeProgress()));
    if (!this.#othersExist) return;
    const { alive, dead } = await store.others();
    this.#othersExist = alive || dead.length > 0;
    this.#dead = new Map(dead.map((worker) => [worker, (this.#dead.get(worker) ?? 0) + 1]));
    for (const [worker, checks] of this.#dead) {
      const count = checks < deadAfterChecks ? 0 : await store.recover(worker);
      if (count > 0) this.#options.log.warn("job_worker_recovered", { count });
    }
  }

  /** Opens a session and compares what runs here with the table: others may have taken jobs back meanwhile. */
  async #open(): Promise<JobStore> {
    const { ownerPool, clock, random } = this.#options;
    const on = { notice: (text: string) => this.#notice(text), lost: () => this.#woken.resolve() };
    const store = await JobStore.open(ownerPool, this.#number, on);
    try {
      await clock.sync?.();
      const now = clock.now();
      const recurring = [...this.#recurrences.values()].map(({ task: { name, priority }, next }) => {
        return { id: random.uuid(), task: name, priority: priorities[priority], run_at: next(now) };
      });
      const owned = await store.enter([...this.#running.keys(), ...this.#ended.keys()], recurring, now);
      for (const [id, attempt] of this.#running) {
        if (owned.get(id) !== false) attempt.stop({ kind: owned.has(id) ? "canceled" : "cut" });
      }
    } catch (error) {
      store.close();
      throw error;
    }
    clearTimeout(this.#regain);
    this.#othersExist = true;
    return store;
  }

  /** A turn failed. Without a session all running jobs are stopped after a while. Returns the pause before the next turn. */
  #failed(error: unknown): number {
    if ((error as { readonly code?: unknown }).code === uniqueViolation) return 1;
    if (this.#store !== undefined) {
      this.#options.log.warn("job_session_lost", errorFields(error));
      this.#store.close();
      this.#store = undefined;
      this.#dead = new Map();
      this.#regain = setTimeout(() => this.#stopAll(), regainMs);
    }
    return regainPauseMs;
  }

  #stopAll(): void {
    for (const attempt of this.#running.values()) attempt.stop({ kind: "cut" });
  }

  #notice(text: string): void {
    const [what, id = ""] = text.split(" ");
    if (what === "worker") this.#othersExist = true;
    if (what === "clock") void this.#options.clock.sync?.().then(() => this.#woken.resolve());
    if (what === "cancel") {
      this.#canceled.add(id);
      this.#running.get(id)?.stop({ kind: "canceled" });
    }
    this.#woken.resolve();
  }
}

/** Waits for a promise at most `ms`; says whether it settled in time. */
async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const timeUp = new AbortController();
  const late = delay(ms, false, { signal: timeUp.signal }).catch(() => false);
  const settled = await Promise.race([late, promise.then(() => true)]);
  timeUp.abort();
  return settled;
}
