/**
 * Allocates frame numbers and slots. The main thread decides the place of a block before a worker compresses it. So a
 * recipe is complete before its blocks are compressed, and two workers never store the same block. Every worker has one
 * open frame per frame class.
 */

import { encodeBlockList } from "../format/block-list.ts";
import { blockIdLength } from "../format/hash.ts";
import type { FrameAppend } from "./frame-class.ts";
import { frameBytes, frameClasses } from "./frame-class.ts";

/** The most slots of a frame. With more, a frame of tiny files would consist mostly of its block list. */
const maxSlotsPerFrame = 4096;

/** Initial capacity of a frame in slots: what pages and ordinary blocks need. */
const usualSlots = 256;

/**
 * Counts the slots of an open frame and keeps the ids and lengths of their blocks. Each worker has one object per frame
 * class and reuses it for every frame: a backup places every new block here, so nothing is allocated per block.
 */
class SlotCounter {
  n = 0;
  slots = 0;
  bytes = 0;
  #ids = new Uint8Array(usualSlots * blockIdLength);
  #lengths = new Uint32Array(usualSlots);

  begin(n: number): void {
    this.n = n;
    this.slots = 0;
    this.bytes = 0;
  }

  add(ids: Uint8Array, block: number, length: number): number {
    if (this.slots === this.#lengths.length) this.#grow();
    const to = this.slots * blockIdLength;
    const from = block * blockIdLength;
    for (let i = 0; i < blockIdLength; i++) this.#ids[to + i] = ids[from + i] ?? 0;
    this.#lengths[this.slots] = length;
    this.bytes += length;
    return this.slots++;
  }

  blockList(): Buffer {
    const ids = this.#ids.subarray(0, this.slots * blockIdLength);
    return encodeBlockList({ ids, lengths: this.#lengths.subarray(0, this.slots) });
  }

  #grow(): void {
    const ids = new Uint8Array(this.#ids.length * 2);
    ids.set(this.#ids);
    const lengths = new Uint32Array(this.#lengths.length * 2);
    lengths.set(this.#lengths);
    this.#ids = ids;
    this.#lengths = lengths;
  }
}

export class SlotAllocator {
  readonly #nextN: () => number;
  /** Per worker and class, in the order of `frameClasses`; `n` is 0 if no frame is open. */
  readonly #frames: SlotCounter[] = [];
  /** Block lists of frames that are sealed or being sealed, until they are registered. */
  readonly blockLists = new Map<number, Buffer>();
  /** Bytes of block lists since this was last set to zero. */
  blockListBytes = 0;

  constructor(nextN: () => number) {
    this.#nextN = nextN;
  }

  /** Starts the plan of what a worker appends to frames from one portion. */
  planPortion(workerIndex: number): PortionPlan {
    return new PortionPlan(this, workerIndex);
  }

  /** Closes every open frame of a worker; returns the appends that seal them. */
  sealAll(workerIndex: number): FrameAppend[] {
    const appends: FrameAppend[] = [];
    for (const [index, frameClass] of frameClasses.entries()) {
      const frame = this.#frame(workerIndex, index);
      if (frame.n === 0) continue;
      appends.push({ frameClass, n: frame.n, runs: new Uint32Array(0), seal: true });
      this.close(frame);
    }
    return appends;
  }

  /** The open frame of a worker and class. */
  open(workerIndex: number, classIndex: number): SlotCounter {
    const frame = this.#frame(workerIndex, classIndex);
    if (frame.n === 0) frame.begin(this.#nextN());
    return frame;
  }

  /** Ends a frame: its block list does not change any more. */
  close(frame: SlotCounter): void {
    const blockList = frame.blockList();
    this.blockLists.set(frame.n, blockList);
    this.blockListBytes += blockList.length;
    frame.n = 0;
  }

  #frame(workerIndex: number, classIndex: number): SlotCounter {
    const at = workerIndex * frameClasses.length + classIndex;
    const known = this.#frames[at];
    if (known !== undefined) return known;
    while (this.#frames.length <= at) this.#frames.push(new SlotCounter());
    return this.#frame(workerIndex, classIndex);
  }
}

interface PlannedAppend {
  readonly classIndex: number;
  readonly n: number;
  /** First block and count of each run. */
  readonly runs: number[];
  seal: boolean;
}

/** The blocks of one portion that its worker appends to frames, frame by frame. */
export class PortionPlan {
  readonly #allocator: SlotAllocator;
  readonly #workerIndex: number;
  readonly #appends: PlannedAppend[] = [];
  readonly #current: (PlannedAppend | null)[] = frameClasses.map(() => null);
  /** The frame and slot that were allocated last. */
  n = 0;
  slot = 0;

  constructor(allocator: SlotAllocator, workerIndex: number) {
    this.#allocator = allocator;
    this.#workerIndex = workerIndex;
  }

  /** Allocates the next slot of a class for a block, and sets `n` and `slot` to it. */
  allocate(classIndex: number, ids: Uint8Array, block: number, length: number): void {
    const frame = this.#allocator.open(this.#workerIndex, classIndex);
    this.n = frame.n;
    this.slot = frame.add(ids, block, length);
    const append = this.#current[classIndex] ?? this.#begin(classIndex);
    const { runs } = append;
    const last = runs.length - 2;
    if (last >= 0 && (runs[last] ?? 0) + (runs[last + 1] ?? 0) === block) runs[last + 1] = (runs[last + 1] ?? 0) + 1;
    else runs.push(block, 1);
    if (frame.bytes >= fullBytes(classIndex) || frame.slots >= maxSlotsPerFrame) {
      this.#allocator.close(frame);
      append.seal = true;
      this.#current[classIndex] = null;
    }
  }

  appends(): FrameAppend[] {
    return this.#appends.map(({ classIndex, n, runs, seal }) => ({
      frameClass: frameClasses[classIndex] ?? "compressible",
      n,
      runs: Uint32Array.from(runs),
      seal,
    }));
  }

  #begin(classIndex: number): PlannedAppend {
    const append = { classIndex, n: this.n, runs: [], seal: false };
    this.#current[classIndex] = append;
    this.#appends.push(append);
    return append;
  }
}

const bytesOfClass = frameClasses.map((frameClass) => frameBytes[frameClass]);

function fullBytes(classIndex: number): number {
  return bytesOfClass[classIndex] ?? frameBytes.compressible;
}
