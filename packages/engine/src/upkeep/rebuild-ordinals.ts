/**
 * Which session may record which ordinal, in the catalog that a rebuild makes. Metadata frames are encrypted, so nothing has
 * compared them with what their client registered: a client may have recorded ordinals of others, also of later sessions.
 *
 * The chain names the ordinals of every session that has completed a snapshot. A session that has not completed any may
 * record what no other session has reserved.
 */

import type { OrdinalRange } from "../format/chain.ts";

/**
 * Ordinals above all that are known to be used, for sessions that completed nothing. Enough for an upload of 16 TB. A higher
 * one is refused: later ordinals would start behind it, and bitmaps have a bit for each.
 */
const maxUnknownOrdinals = 2 ** 24;

export class ReservedOrdinals {
  readonly #bySession: ReadonlyMap<number, readonly OrdinalRange[]>;
  /** All ranges in ascending order. No two of them overlap. */
  readonly #all: readonly OrdinalRange[];
  /** One more than the highest ordinal that the chain or a snapshot names. */
  readonly end: number;

  /** `highest`: the highest ordinal that a snapshot reaches. */
  constructor(bySession: ReadonlyMap<number, readonly OrdinalRange[]>, highest: number) {
    this.#bySession = bySession;
    this.#all = [...bySession.values()].flat().sort((a, b) => a.first - b.first);
    this.end = Math.max(highest + 1, this.#all.at(-1)?.end ?? 1);
  }

  /** Whether a session has completed a snapshot: it is a client's and not one of upkeep. */
  isOfClient(session: number): boolean {
    return this.#bySession.has(session);
  }

  /** Whether a writer's session may record this ordinal. */
  allows(session: number, ordinal: number): boolean {
    const own = this.#bySession.get(session);
    if (own !== undefined) return own.some(({ first, end }) => ordinal >= first && ordinal < end);
    return ordinal < this.end + maxUnknownOrdinals && !this.#isReserved(ordinal);
  }

  #isReserved(ordinal: number): boolean {
    let [low, high] = [0, this.#all.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#all[middle]?.end ?? 0) <= ordinal) low = middle + 1;
      else high = middle;
    }
    return ordinal >= (this.#all[low]?.first ?? Number.POSITIVE_INFINITY);
  }
}
