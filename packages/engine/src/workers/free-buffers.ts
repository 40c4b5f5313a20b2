/** The buffers of one upload in one cutting worker (`cut-worker.ts`). */

import type { CutJob } from "./cut-messages.ts";

/**
 * Buffers that hold any job's bytes: one is cut while the other waits for `append`. At 30 ms per answer, two carry more than
 * 250 MB/s, which is more than a core cuts and seals.
 */
const largeBuffers = 2;

/** Buffers for bundles only, of which half is used at most: a bundle has a megabyte on average, so more of them must wait. */
const bundleBuffers = 4;

export const buffersPerUpload = largeBuffers + bundleBuffers;

/** The buffers of one upload that are free. The one that was released last is taken first: it is in the core's cache. */
export class FreeBuffers {
  readonly #large = Array.from({ length: largeBuffers }, (_, i) => i);
  readonly #bundle = Array.from({ length: bundleBuffers }, (_, i) => largeBuffers + i);
  readonly #waiting: (() => void)[] = [];
  #isClosed = false;

  /** Waits for a buffer. Null if the session is over. */
  async take(kind: CutJob["kind"]): Promise<number | null> {
    while (!this.#isClosed) {
      const index = kind === "bundle" ? (this.#bundle.pop() ?? this.#large.pop()) : this.#large.pop();
      if (index !== undefined) return index;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    return null;
  }

  release(index: number): void {
    (index < largeBuffers ? this.#large : this.#bundle).push(index);
    this.#wake();
  }

  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
