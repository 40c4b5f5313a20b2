/** One attempt of a job: runs its task until it ends, or until it has ignored its signal for too long. */

import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Secrets } from "../secrets.ts";
import type { Ending } from "./outcome.ts";
import { openPayload } from "./sealed.ts";
import type { ClaimedJob } from "./store.ts";
import { type JobProgress, type Task, TransientJobError } from "./task.ts";

export interface AttemptOptions<Ports> {
  /** Given to every task. */
  readonly ports: Ports;
  readonly clock: Clock;
  /** Opens sealed payloads; without it such jobs fail. */
  readonly secrets?: Secrets;
}

/** How long a task may continue after its signal aborted, before its attempt is ended without it. */
export const endOnSignalMs = 2_000;
/** Ten numbers with their names. */
const maxProgressLength = 1_000;

export class Attempt<Ports> {
  readonly job: ClaimedJob;
  readonly ended: Promise<Ending>;
  /** What the task reported and is not stored yet. */
  progress: JobProgress | undefined;
  readonly #stop = new AbortController();
  #ending: Ending | undefined;

  /** Starts the task, unless `ending` says that it must not start. */
  constructor(
    task: Task<unknown, Ports>,
    job: ClaimedJob,
    log: Log,
    options: AttemptOptions<Ports>,
    ending: Ending | undefined,
  ) {
    this.job = job;
    const { ports, clock, secrets } = options;
    const progress = (numbers: JobProgress) => this.#report(numbers);
    const context = { jobId: job.id, attempt: job.attempt, signal: this.#stop.signal, progress, clock, log, ports };
    const payload = () =>
      secrets ? openPayload(secrets, { task: job.task, jobId: job.id }, job.payload) : job.payload;
    const run = () => this.#run(task.timeoutMs, log, () => task.execute(payload(), context));
    this.ended = ending === undefined ? run() : Promise.resolve(ending);
  }

  /** Aborts the signal. The attempt then ends in this way, unless its task succeeds all the same. */
  stop(ending: Ending): void {
    this.#ending ??= ending;
    this.#stop.abort();
  }

  /** What the task reported since the last call. */
  takeProgress(): { readonly id: string; readonly progress: JobProgress | undefined } {
    const { progress } = this;
    this.progress = undefined;
    return { id: this.job.id, progress };
  }

  #report(numbers: JobProgress): void {
    const finite = Object.values(numbers).every((value) => Number.isFinite(value));
    if (!finite || JSON.stringify(numbers).length > maxProgressLength) {
      throw new RangeError(`progress is finite numbers by name, at most ${maxProgressLength} characters of JSON`);
    }
    this.progress = numbers;
  }

  async #run(timeoutMs: number, log: Log, execute: () => Promise<void>): Promise<Ending> {
    const ignored = Promise.withResolvers<never>();
    let timer = setTimeout(() => this.stop({ kind: "error", error: new TransientJobError("timeout") }), timeoutMs);
    this.#stop.signal.addEventListener("abort", () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        log.error("job_ignored_signal");
        ignored.reject(new Error("the task ignored its signal"));
      }, endOnSignalMs);
    });
    try {
      await Promise.race([Promise.try(execute), ignored.promise]);
      return { kind: "ok" };
    } catch (error) {
      return this.#ending ?? { kind: "error", error };
    } finally {
      clearTimeout(timer);
    }
  }
}
