/**
 * The ordinals that an upload may give to new segments and nodes. More are reserved before the last one is used, so an
 * upload seldom waits for them. Batches grow with the upload: a small one leaves a small gap in the bitmaps.
 */

import type { OrdinalRange } from "../catalog/catalog.ts";

/** Ordinals of the second batch; the target has chosen the first. */
const minBatch = 256;

/** A batch for about 4 GiB of new data. */
export const maxOrdinalBatch = 4096;

export class OrdinalReserve {
  readonly #reserve: (request: number, count: number) => Promise<OrdinalRange>;
  /** All ranges so far. */
  readonly #ranges: OrdinalRange[];
  #range: OrdinalRange;
  #next: number;
  #following: Promise<OrdinalRange> | null = null;
  #request = 0;
  #batch = minBatch;

  /** `first`: the range that the upload began with. */
  constructor(first: OrdinalRange, reserve: (request: number, count: number) => Promise<OrdinalRange>) {
    this.#reserve = reserve;
    this.#range = first;
    this.#ranges = [first];
    this.#next = first.first;
  }

  /** The next ordinal; a promise if it must be reserved first. */
  take(): number | Promise<number> {
    if (this.#next >= this.#range.end) return this.#takeFollowing();
    const ordinal = this.#next++;
    if (this.#range.end - this.#next <= (this.#range.end - this.#range.first) / 2) void this.#reserveNext();
    return ordinal;
  }

  /** Whether the upload has reserved this ordinal. */
  has(ordinal: number): boolean {
    return this.#ranges.some(({ first, end }) => ordinal >= first && ordinal < end);
  }

  #reserveNext(): Promise<OrdinalRange> {
    if (this.#following === null) {
      this.#following = this.#reserve(++this.#request, this.#batch);
      this.#batch = Math.min(this.#batch * 2, maxOrdinalBatch);
      this.#following.catch(() => {
        // The next ordinal that needs it rejects.
      });
    }
    return this.#following;
  }

  async #takeFollowing(): Promise<number> {
    // Several may wait for the same range, and more than it has.
    while (this.#next >= this.#range.end) {
      const requested = this.#reserveNext();
      const range = await requested;
      if (this.#following !== requested) continue;
      this.#following = null;
      this.#range = range;
      this.#ranges.push(range);
      this.#next = range.first;
    }
    return this.#next++;
  }
}
