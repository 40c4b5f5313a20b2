/**
 * Ordinals by id, of bounded size. It has two halves: when the younger one is full, it becomes the older one, and the
 * older one is dropped. So the newest entries are always there.
 */

import { hex } from "../format/bytes.ts";

export class RecentOrdinals {
  readonly #capacity: number;
  #younger = new Map<string, number>();
  #older = new Map<string, number>();

  /** `capacity`: entries that are kept at least. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(id: Uint8Array): number | undefined {
    const key = hex(id);
    return this.#younger.get(key) ?? this.#older.get(key);
  }

  set(id: Uint8Array, ordinal: number): void {
    if (this.#younger.size >= this.#capacity) {
      this.#older = this.#younger;
      this.#younger = new Map();
    }
    this.#younger.set(hex(id), ordinal);
  }
}
