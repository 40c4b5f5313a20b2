/** The buffers of one upload in one cutting worker (`cut-worker.ts`). */

import type { CutJob } from "./cut-messages.ts";

/**
 * Buffers that hold any job's bytes: one is cut while the other waits for `append`. They are 8 MiB each. With answers after 30 ms two carry some 250 MB/s,
 * which is less than a core cuts of a dump that is stored already: there the upload looks further ahead.
 */
const largeBuffers = 2;

/** Buffers for bundles only, of which half is used at most: a bundle has a megabyte on average, so more of them must wait. */
const bundleBuffers = 4;

/** The number of buffers of an upload with this lookahead. */
export function buffersPerUpload(lookahead: number): number {
  return (largeBuffers + bundleBuffers) * lookahead;
}

/** The buffers of one upload that are free. The one that was released last is taken first: it is in the core's cache. */
export class FreeBuffers {
  readonly #large: number[];
  readonly #bundle: number[];
  readonly #firstForBundles: number;
  readonly #waiting: (() => void)[] = [];
  #isClosed = false;

  constructor(lookahead: number) {
    this.#firstForBundles = largeBuffers * lookahead;
    this.#large = Array.from({ length: this.#firstForBundles }, (_, i) => i);
    this.#bundle = Array.from({ length: bundleBuffers * lookahead }, (_, i) => this.#firstForBundles + i);
  }

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
    (index < this.#firstForBundles ? this.#large : this.#bundle).push(index);
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
