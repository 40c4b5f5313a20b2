/**
 * A fixed-size table from block id to (frame, slot): what the matcher knows right now. Two halves of equal capacity: new
 * entries go to the young half; when it is full, it becomes the old half and the old one is forgotten. So memory is
 * constant, recent knowledge stays, and nothing is ever moved entry by entry.
 */

import { blockIdLength } from "../format/hash.ts";

/** Entries per half. Two halves hold the blocks of about 1 GiB in 7 MiB of memory. */
const defaultCapacity = 1 << 16;

/** Slots per entry: a fuller table probes too long. */
const slack = 2;

export interface BlockPlace {
  frame: number;
  slot: number;
}

export class BlockTable {
  readonly #capacity: number;
  readonly #rotated: () => void;
  // Made when first needed: a first backup never fills the matcher's.
  #young: Half | null = null;
  #old: Half | null = null;

  constructor(capacity = defaultCapacity, rotated: () => void = () => {}) {
    this.#capacity = capacity;
    this.#rotated = rotated;
  }

  set(ids: Uint8Array, index: number, frame: number, slot: number): void {
    if (this.#young !== null && this.#young.used >= this.#capacity) {
      const oldest = this.#old;
      this.#old = this.#young;
      oldest?.clear();
      this.#young = oldest;
      this.#rotated();
    }
    this.#young ??= new Half(this.#capacity * slack);
    this.#young.set(ids, index * blockIdLength, frame, slot);
  }

  /** Writes the place into `into` and returns true, or returns false. */
  find(ids: Uint8Array, index: number, into: BlockPlace): boolean {
    const at = index * blockIdLength;
    return (this.#young?.find(ids, at, into) ?? false) || (this.#old?.find(ids, at, into) ?? false);
  }
}

class Half {
  readonly #keys: Uint8Array;
  readonly #frames: Float64Array;
  readonly #slots: Uint32Array;
  readonly #mask: number;
  used = 0;

  constructor(size: number) {
    this.#keys = new Uint8Array(size * blockIdLength);
    this.#frames = new Float64Array(size);
    this.#slots = new Uint32Array(size);
    this.#mask = size - 1;
  }

  clear(): void {
    this.#frames.fill(0);
    this.used = 0;
  }

  set(ids: Uint8Array, at: number, frame: number, slot: number): void {
    let place = this.#home(ids, at);
    while (this.#frames[place] !== 0 && !this.#same(ids, at, place)) place = (place + 1) & this.#mask;
    if (this.#frames[place] === 0) {
      this.used++;
      for (let i = 0; i < blockIdLength; i++) this.#keys[place * blockIdLength + i] = ids[at + i] ?? 0;
    }
    this.#frames[place] = frame;
    this.#slots[place] = slot;
  }

  find(ids: Uint8Array, at: number, into: BlockPlace): boolean {
    let place = this.#home(ids, at);
    while (this.#frames[place] !== 0) {
      if (this.#same(ids, at, place)) {
        into.frame = this.#frames[place] ?? 0;
        into.slot = this.#slots[place] ?? 0;
        return true;
      }
      place = (place + 1) & this.#mask;
    }
    return false;
  }

  #home(ids: Uint8Array, at: number): number {
    const a = ids[at + 4] ?? 0;
    const b = ids[at + 5] ?? 0;
    const c = ids[at + 6] ?? 0;
    return (a | (b << 8) | (c << 16)) & this.#mask;
  }

  #same(ids: Uint8Array, at: number, place: number): boolean {
    const base = place * blockIdLength;
    for (let i = 0; i < blockIdLength; i++) if (this.#keys[base + i] !== ids[at + i]) return false;
    return true;
  }
}
