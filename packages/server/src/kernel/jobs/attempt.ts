/** One attempt of a job: runs its task until it ends, or until it has ignored its signal for too long. */

import type { Log } from "../log.ts";
import type { Ending } from "./outcome.ts";
import { TransientJobError } from "./task.ts";

/** How long a task may continue after its signal aborted, before its attempt is ended without it. */
export const endOnSignalMs = 2_000;

export class Attempt {
  readonly ended: Promise<Ending>;
  readonly #stop = new AbortController();
  readonly #ignored = Promise.withResolvers<never>();
  #timer: NodeJS.Timeout;
  #ending: Ending | undefined;

  constructor(timeoutMs: number, log: Log, execute: (signal: AbortSignal) => Promise<void>) {
    const timeout = () => this.stop({ kind: "error", error: new TransientJobError("timeout") });
    this.#timer = setTimeout(timeout, timeoutMs);
    this.#ignored.promise.catch(() => log.error("job_ignored_signal"));
    this.ended = this.#run(execute);
  }

  /** Aborts the signal. The attempt then ends in this way, unless its task succeeds all the same. */
  stop(ending: Ending): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ignored.reject(new Error("the task ignored its signal")), endOnSignalMs);
    this.#stop.abort();
  }

  async #run(execute: (signal: AbortSignal) => Promise<void>): Promise<Ending> {
    try {
      await Promise.race([Promise.try(execute, this.#stop.signal), this.#ignored.promise]);
      return { kind: "ok" };
    } catch (error) {
      return this.#ending ?? { kind: "error", error };
    } finally {
      clearTimeout(this.#timer);
    }
  }
}
