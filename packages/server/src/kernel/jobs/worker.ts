/**
 * A worker runs the jobs of a database, in *turns*: a turn writes the outcomes of jobs that ended and takes due ones.
 * Between turns it waits for a notification, the end of a job, or the time of the next job. It is alive while its database
 * session holds its lock. When the session is lost, running jobs continue; if no new one opens soon, they are stopped.
 * Workers release the jobs of dead ones. So a job runs at least once, and in one worker at a time, except for a task that
 * ignores its signal.
 */

import { setImmediate as nextTick } from "node:timers/promises";
import type { Pool } from "pg";
import { monotonicMs } from "../clock.ts";
import { inBackground } from "../database/background.ts";
import { errorFields, type Log } from "../log.ts";
import type { FinishedJob } from "../metrics.ts";
import { doneWithin } from "../within.ts";
import { Attempt, endOnSignalMs } from "./attempt.ts";
import type { JobSources } from "./enqueue.ts";
import { type ClaimedJob, type Ending, outcomeOf } from "./outcome.ts";
import { failedJobsPurge } from "./purge.ts";
import { openPayload } from "./sealed.ts";
import { type EndedJob, JobStore } from "./store.ts";
import { type JobProgress, PermanentJobError, priorities, type Task } from "./task.ts";

export interface WorkerOptions<Ports> extends JobSources {
  /** The owner of the tables, not through a transaction pooler. */
  readonly ownerPool: Pool;
  /** All tasks that this process can run. Jobs of other tasks wait for a process that can run them. */
  readonly tasks: readonly Task<unknown, Ports>[];
  readonly ports: Ports;
  readonly log: Log;
  readonly concurrency?: number;
  readonly onReport?: (report: FinishedJob) => void;
}

/** Jobs at a time. They share half of the application's connections (`database/background.ts`), so that requests always find a free one. */
export const defaultConcurrency = 8;
/** The longest wait of an idle worker: a machine that slept, or whose clock was set, is late by this at most. */
const idleMs = 60_000;
/** The longest wait while jobs run, a due job cannot be taken, or other workers exist; between two checks of these. */
const busyMs = 1_000;
/** Checks in a row that find a worker dead before its jobs are taken: twice the time that it has to get a new session. */
const deadAfterChecks = 6;
/** How long running jobs continue without a session. */
export const reopenMs = 3_000;
/** Between attempts to open one: several within that time. */
const reopenPauseMs = 250;
/** Time to write the last outcomes of a worker that stops. Other workers release what is not written. */
const closeMs = 5_000;
/** A job during which this many workers died is not run again: it is probably the cause. */
export const maxCrashes = 5;
/** Ten numbers with their names. */
const maxProgressLength = 1_000;
/** The key of the one job that a recurring task has. */
const recurringKey = "@recurring";
/** SQLSTATE: another worker took a job with the same exclusive key at the same moment. */
const uniqueViolation = "23505";

export class Worker<Ports> {
  readonly #options: WorkerOptions<Ports>;
  /** Of its lock: a positive 32-bit integer. */
  readonly #number: number;
  readonly #tasks = new Map<string, Task<unknown, Ports>>();
  readonly #running = new Map<string, Attempt>();
  readonly #ended = new Map<string, EndedJob & { readonly report: () => void }>();
  /** What running jobs reported and is not stored yet. */
  readonly #progress = new Map<string, JobProgress>();
  /** Jobs whose cancellation arrived during a turn. */
  readonly #canceled = new Set<string>();
  /** How many checks in a row found a worker dead. */
  #dead: ReadonlyMap<number, number> = new Map();
  #othersExist = true;
  #checkedAt = 0;
  #store: JobStore | undefined;
  #reopenDeadline: NodeJS.Timeout | undefined;
  #woken = Promise.withResolvers<void>();
  #stopping = false;
  #released = 0;
  #loop = Promise.resolve();

  private constructor(options: WorkerOptions<Ports>) {
    this.#options = options;
    this.#number = options.random.bytes(4).readUInt32BE() >>> 1;
    for (const task of [...options.tasks, failedJobsPurge(options.ownerPool)]) {
      if (this.#tasks.has(task.name)) throw new Error(`two tasks are called ${task.name}`);
      this.#tasks.set(task.name, task);
    }
  }

  /** Starts a worker on a migrated database. Rejects when the database does not answer. */
  static async start<Ports>(options: WorkerOptions<Ports>): Promise<Worker<Ports>> {
    const worker = new Worker(options);
    worker.#store = await worker.#open();
    options.clock.onMove?.(() => worker.#woken.resolve());
    worker.#loop = worker.#run();
    return worker;
  }

  /** Stops: takes no more jobs, lets running ones finish for `ms`, gives the rest back. Resolves with their number. */
  async drain(ms: number): Promise<number> {
    this.#stopping = true;
    this.#woken.resolve();
    const stop = setTimeout(() => this.#stopAll(), ms);
    await doneWithin(ms + endOnSignalMs + closeMs, this.#loop);
    clearTimeout(stop);
    return this.#released;
  }

  /** It stops, its jobs have ended, and their outcomes are written, unless there is no session. */
  get #isDone(): boolean {
    return this.#stopping && this.#running.size === 0 && (this.#ended.size === 0 || this.#store === undefined);
  }

  async #run(): Promise<void> {
    while (!this.#isDone) {
      this.#woken = Promise.withResolvers<void>();
      const waitMs = await this.#turn().catch((error: unknown) => this.#failed(error));
      await doneWithin(this.#isDone ? 0 : waitMs, this.#woken.promise);
      // Jobs that end together are written together.
      await nextTick();
    }
    clearTimeout(this.#reopenDeadline);
    this.#store?.close();
  }

  /** Returns how long to wait for the next turn, if nothing happens before. */
  async #turn(): Promise<number> {
    this.#store ??= await this.#open();
    const { clock, log, concurrency = defaultConcurrency } = this.#options;
    const isCheck = monotonicMs() >= this.#checkedAt + busyMs;
    const progress = isCheck ? Array.from(this.#progress, ([id, numbers]) => ({ id, progress: numbers })) : [];
    if (isCheck) this.#progress.clear();
    this.#canceled.clear();
    const ended = [...this.#ended.values()];
    const free = this.#stopping ? 0 : concurrency - this.#running.size;
    const slots = [free, Math.ceil(concurrency / 2)];
    const { written, locked, taken, due } = await this.#store.turn(ended, progress, slots, clock.now());
    for (const { id, report } of ended.filter((job) => !locked.has(job.id))) {
      this.#ended.delete(id);
      if (written.has(id)) report();
      else log.warn("job_claim_lost", { target_id: id });
    }
    for (const job of taken) this.#begin(job);
    if (isCheck) await this.#check(this.#store);
    const wait = due ? due.getTime() - clock.now().getTime() : idleMs;
    const busy = wait <= 0 || this.#othersExist || this.#running.size > 0 || this.#ended.size > 0;
    return Math.min(wait > 0 ? wait : busyMs, busy ? busyMs : idleMs);
  }

  #begin(job: ClaimedJob): void {
    const { id, task: name, attempt } = job;
    const task = this.#tasks.get(name);
    if (task === undefined) throw new Error("a job of an unknown task was taken");
    const log = this.#options.log.child({ job: name, target_id: id, attempt });
    const startedAt = monotonicMs();
    const end = (ending: Ending) => {
      const next = job.key === recurringKey ? task.next : undefined;
      const rules = { retry: task.retry, next, now: this.#options.clock.now() };
      const { name: outcome, row } = outcomeOf(ending, job, rules);
      const finished = { task: name, outcome, durationMs: monotonicMs() - startedAt };
      this.#running.delete(id);
      this.#progress.delete(id);
      this.#ended.set(id, { id, row, report: () => this.#report(finished, ending, log) });
      this.#woken.resolve();
    };
    void Promise.resolve(this.#refusal(job) ?? this.#execute(task, job, log)).then(end);
  }

  #execute(task: Task<unknown, Ports>, { id, attempt, payload }: ClaimedJob, log: Log): Promise<Ending> {
    const { clock, ports, secrets } = this.#options;
    const progress = (numbers: JobProgress) => void this.#progress.set(id, checkedProgress(numbers));
    const running = new Attempt(task.timeoutMs, log, (signal) => {
      const context = { jobId: id, attempt, signal, progress, clock, log, ports };
      return inBackground(() => task.execute(openPayload(secrets, task.name, id, payload), context));
    });
    this.#running.set(id, running);
    return running.ended;
  }

  /** Why a taken job does not run. */
  #refusal(job: ClaimedJob): Ending | undefined {
    if (job.canceled || this.#canceled.has(job.id)) return { kind: "canceled" };
    if (job.crashes >= maxCrashes) return { kind: "error", error: new PermanentJobError("worker_lost") };
    return this.#stopping ? { kind: "stopped" } : undefined;
  }

  #report(finished: FinishedJob, ending: Ending, log: Log): void {
    const { outcome, durationMs: duration_ms } = finished;
    const level = outcome === "given_up" ? "error" : outcome === "retried" ? "warn" : "info";
    const error = ending.kind === "error" ? errorFields(ending.error) : {};
    log[level](`job_${outcome}`, { duration_ms, ...error });
    if (outcome === "released") this.#released += 1;
    this.#options.onReport?.(finished);
  }

  /** Checks the other workers, and releases the jobs of those that were dead in several checks. */
  async #check(store: JobStore): Promise<void> {
    this.#checkedAt = monotonicMs();
    if (!this.#othersExist) return;
    const lost = [...this.#dead].filter(([, checks]) => checks >= deadAfterChecks - 1).map(([worker]) => worker);
    const { recovered = 0, alive = false, dead = [] } = (await store.check(lost)) ?? {};
    this.#othersExist = alive || dead.length > 0 || recovered > 0;
    this.#dead = new Map(dead.map((worker) => [worker, (this.#dead.get(worker) ?? 0) + 1]));
    if (recovered > 0) this.#options.log.warn("job_worker_recovered", { count: recovered });
  }

  /** Opens a session and compares what runs here with the table: others may have taken jobs back meanwhile. */
  async #open(): Promise<JobStore> {
    const { ownerPool, clock, random } = this.#options;
    const notice = (text: string) => this.#notice(text);
    const store = new JobStore(await ownerPool.connect(), this.#number, [...this.#tasks.keys()], notice);
    const now = clock.now();
    const recurring = [...this.#tasks.values()].flatMap(({ name, priority, next }) =>
      next ? { id: random.uuid(), task: name, priority: priorities[priority], run_at: next(now) } : [],
    );
    try {
      const owned = await store.enter([...this.#running.keys(), ...this.#ended.keys()], recurring, now);
      for (const [id, attempt] of this.#running) {
        if (owned.get(id) !== false) attempt.stop({ kind: owned.has(id) ? "canceled" : "stopped" });
      }
      await clock.sync?.();
    } catch (error) {
      store.close();
      throw error;
    }
    clearTimeout(this.#reopenDeadline);
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
      this.#reopenDeadline = setTimeout(() => this.#stopAll(), reopenMs);
    }
    return reopenPauseMs;
  }

  #stopAll(): void {
    for (const attempt of this.#running.values()) attempt.stop({ kind: "stopped" });
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

function checkedProgress(numbers: JobProgress): JobProgress {
  const finite = Object.values(numbers).every((value) => Number.isFinite(value));
  if (finite && JSON.stringify(numbers).length <= maxProgressLength) return numbers;
  throw new RangeError(`progress is finite numbers by name, at most ${maxProgressLength} characters of JSON`);
}
