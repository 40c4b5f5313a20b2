/**
 * Data frames that upkeep has given to workers to be sealed. Sealed frames are passed on in the order in which they were
 * given, so that frames of one file are adjacent in the pack. Without threads a frame is sealed at once.
 */

import type { RestoreWorkerPool } from "../workers/restore-worker-pool.ts";
import type { SealBlocksJob } from "../workers/seal-blocks.ts";
import { sealBlocks } from "../workers/seal-blocks.ts";

export class SealQueue {
  readonly #pool: RestoreWorkerPool | null;
  readonly #waiting: Promise<void>[] = [];
  #last: Promise<void> = Promise.resolve();
  #failure: unknown = null;

  constructor(pool: RestoreWorkerPool | null) {
    this.#pool = pool;
  }

  /** Seals a frame and calls `onSealed`, later if a thread does it. A failure is thrown here or by `drain`. */
  push(job: Omit<SealBlocksJob, "job">, onSealed: (sealed: Uint8Array) => void): void {
    if (this.#pool === null || !this.#pool.hasThreads) {
      const { sealed } = sealBlocks({ ...job, job: 0 });
      if (typeof sealed === "string") throw new Error(sealed);
      onSealed(sealed);
      return;
    }
    const sealing = this.#pool.seal(job);
    // It is awaited after the frames before it. Until then Node must not report an unhandled rejection.
    sealing.catch(() => undefined);
    this.#last = this.#last
      .then(async () => {
        const { sealed } = await sealing;
        if (typeof sealed === "string") throw new Error(sealed);
        if (this.#failure === null) onSealed(sealed);
      })
      .catch((error: unknown) => {
        this.#failure ??= error;
      });
    this.#waiting.push(this.#last);
  }

  /** Waits until the workers can take another frame. So a session has as many frames in memory as the pool runs jobs. */
  async waitForSpace(): Promise<void> {
    while (this.#waiting.length >= (this.#pool?.maxParallelJobs ?? 1)) await this.#waiting.shift();
    this.#throwFailure();
  }

  /** Waits for all frames. */
  async drain(): Promise<void> {
    await this.#last;
    this.#waiting.length = 0;
    this.#throwFailure();
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure;
  }
}
