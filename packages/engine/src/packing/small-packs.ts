/**
 * Ends packs early whose records are many and whose bytes are few, so that they are registered while a backup goes on. Without this, the block lists and
 * segments of very many tiny files would wait in memory for a pack to become full (docs/decisions/0641).
 *
 * One such pack at a time: they have few bytes, so the bounds of bytes would let many of them, with all their records, wait for a slow line.
 */

import type { PackUploader } from "./pack-uploader.ts";
import type { SlotAllocator } from "./slot-allocator.ts";

/** New segments after which a pack ends, however small it is. A bound for backups that store few bytes for many segments. */
const maxNewSegments = 4096;

export class SmallPacks {
  readonly #packs: PackUploader;
  readonly #slots: SlotAllocator;
  readonly #maxBlockListBytes: number;
  /** Bytes in full packs when counting began. */
  #countedFrom = 0;
  /** The pack that ended early and is not registered. */
  #ended: string | null = null;
  /** New segments since a pack ended. */
  newSegments = 0;

  constructor(packs: PackUploader, slots: SlotAllocator, maxBlockListBytes: number) {
    this.#packs = packs;
    this.#slots = slots;
    this.#maxBlockListBytes = maxBlockListBytes;
  }

  /** Whether a pack that ended early is not registered. */
  get isWaiting(): boolean {
    return this.#ended !== null;
  }

  /** Whether the open pack should end. */
  hasManyRecords(): boolean {
    // A pack has ended.
    if (this.#packs.fullBytes !== this.#countedFrom) this.#count();
    return this.newSegments >= maxNewSegments || this.#slots.blockListBytes >= this.#maxBlockListBytes;
  }

  /** Ends the open pack, once the one before it is registered. Returns false if none is open: the segments have blocks of other packs only. */
  async end(): Promise<boolean> {
    await this.#packs.waitUntil(() => this.#ended === null);
    // Another caller may have ended it meanwhile.
    if (!this.hasManyRecords()) return true;
    this.#ended = this.#packs.finishPack();
    this.#count();
    return this.#ended !== null;
  }

  registered(packs: readonly { readonly pack: string }[]): void {
    if (!packs.some(({ pack }) => pack === this.#ended)) return;
    this.#ended = null;
    this.#packs.notify();
  }

  #count(): void {
    this.newSegments = 0;
    this.#slots.blockListBytes = 0;
    this.#countedFrom = this.#packs.fullBytes;
  }
}
