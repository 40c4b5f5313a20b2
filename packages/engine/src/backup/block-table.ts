/**
 * A hash table of bounded size from block id to frame and slot. It has two halves of equal capacity. New entries go to
 * the younger half. When that is full, it becomes the older half, and the older one is cleared. So memory is constant,
 * recent entries stay, and no entry is ever moved.
 */

import { blockIdLength } from "../format/hash.ts";

/** Entries per half. Two halves hold the blocks of about 1 GiB in 7 MiB of memory. */
const defaultCapacity = 1 << 16;

/** Table slots per entry. In a fuller table, lookups probe too many slots. */
const slotsPerEntry = 2;

export interface BlockPlace {
  frame: number;
  slot: number;
}

export class BlockTable {
  readonly #capacity: number;
  readonly #onRotate: () => void;
  // Allocated when first needed: a first backup of less than one unit does not use the matcher's table.
  #younger: HalfTable | null = null;
  #older: HalfTable | null = null;

  /** `onRotate` is called when the older half was cleared. */
  constructor(capacity = defaultCapacity, onRotate: () => void = () => {}) {
    this.#capacity = capacity;
    this.#onRotate = onRotate;
  }

  set(ids: Uint8Array, index: number, frame: number, slot: number): void {
    if (this.#younger !== null && this.#younger.used >= this.#capacity) {
      const oldest = this.#older;
      this.#older = this.#younger;
      oldest?.clear();
      this.#younger = oldest;
      this.#onRotate();
    }
    this.#younger ??= new HalfTable(this.#capacity * slotsPerEntry);
    this.#younger.set(ids, index * blockIdLength, frame, slot);
  }

  /** Returns whether the block is in the table, and writes its place into `into`. */
  find(ids: Uint8Array, index: number, into: BlockPlace): boolean {
    const at = index * blockIdLength;
    return (this.#younger?.find(ids, at, into) ?? false) || (this.#older?.find(ids, at, into) ?? false);
  }
}

class HalfTable {
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
    let place = this.#hash(ids, at);
    while (this.#frames[place] !== 0 && !this.#same(ids, at, place)) place = (place + 1) & this.#mask;
    if (this.#frames[place] === 0) {
      this.used++;
      for (let i = 0; i < blockIdLength; i++) this.#keys[place * blockIdLength + i] = ids[at + i] ?? 0;
    }
    this.#frames[place] = frame;
    this.#slots[place] = slot;
  }

  find(ids: Uint8Array, at: number, into: BlockPlace): boolean {
    let place = this.#hash(ids, at);
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

  #hash(ids: Uint8Array, at: number): number {
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
