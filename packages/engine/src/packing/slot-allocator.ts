/**
 * Gives out frame numbers and slots. The pipeline decides where a block will be before any worker has compressed it, so
 * recipes are complete at once and two workers never store the same block. One open frame per worker and class.
 */

import { encodeBlockList } from "../format/block-list.ts";
import { blockIdLength } from "../format/hash.ts";
import type { TakeOp } from "../workers/cut-messages.ts";
import { frameBytes, frameClasses } from "../workers/cut-messages.ts";

/** A frame's block list entries at most: tiny files would make one that is all block list. */
const maxSlotsPerFrame = 4096;

/** Slots that a frame has room for at first: what pages and ordinary blocks need. */
const usualSlots = 256;

/**
 * A frame that is being filled: its blocks' ids and lengths. Each lane has one per class, and fills it again and again:
 * a backup places every block here, so nothing is made per block.
 */
class OpenFrame {
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
  /** Per lane and class, in the order of `frameClasses`; n is 0 where none is open. */
  readonly #frames: OpenFrame[] = [];
  /** Block lists of frames that are sealed or being sealed, until they are registered. */
  readonly blockLists = new Map<number, Buffer>();
  /** Bytes of block lists since this was last set to zero. */
  blockListBytes = 0;

  constructor(nextN: () => number) {
    this.#nextN = nextN;
  }

  /** Starts the list of things that a worker is to do with one portion. */
  order(lane: number): PortionPlan {
    return new PortionPlan(this, lane);
  }

  /** Seals every open frame of a lane. */
  sealAll(lane: number): TakeOp[] {
    const ops: TakeOp[] = [];
    for (const [index, frameClass] of frameClasses.entries()) {
      const frame = this.#frame(lane, index);
      if (frame.n === 0) continue;
      ops.push({ frameClass, n: frame.n, runs: new Uint32Array(0), seal: true });
      this.close(frame);
    }
    return ops;
  }

  /** The frame of a lane and class that is being filled. */
  open(lane: number, classIndex: number): OpenFrame {
    const frame = this.#frame(lane, classIndex);
    if (frame.n === 0) frame.begin(this.#nextN());
    return frame;
  }

  /** Ends a frame: its block list is known from now on. */
  close(frame: OpenFrame): void {
    const blockList = frame.blockList();
    this.blockLists.set(frame.n, blockList);
    this.blockListBytes += blockList.length;
    frame.n = 0;
  }

  #frame(lane: number, classIndex: number): OpenFrame {
    const at = lane * frameClasses.length + classIndex;
    const known = this.#frames[at];
    if (known !== undefined) return known;
    while (this.#frames.length <= at) this.#frames.push(new OpenFrame());
    return this.#frame(lane, classIndex);
  }
}

interface GrowingOp {
  readonly classIndex: number;
  readonly n: number;
  /** First block and count of each run. */
  readonly runs: number[];
  seal: boolean;
}

/** The blocks that one portion's worker is told to take, frame by frame. */
export class PortionPlan {
  readonly #ledger: SlotAllocator;
  readonly #lane: number;
  readonly #ops: GrowingOp[] = [];
  readonly #current: (GrowingOp | null)[] = frameClasses.map(() => null);
  /** The frame and slot of the block taken last. */
  n = 0;
  slot = 0;

  constructor(ledger: SlotAllocator, lane: number) {
    this.#ledger = ledger;
    this.#lane = lane;
  }

  /** Gives a block the next place of its class; `n` and `slot` say which. */
  take(classIndex: number, ids: Uint8Array, block: number, length: number): void {
    const frame = this.#ledger.open(this.#lane, classIndex);
    this.n = frame.n;
    this.slot = frame.add(ids, block, length);
    const op = this.#current[classIndex] ?? this.#begin(classIndex);
    const { runs } = op;
    const last = runs.length - 2;
    if (last >= 0 && (runs[last] ?? 0) + (runs[last + 1] ?? 0) === block) runs[last + 1] = (runs[last + 1] ?? 0) + 1;
    else runs.push(block, 1);
    if (frame.bytes >= fullBytes(classIndex) || frame.slots >= maxSlotsPerFrame) {
      this.#ledger.close(frame);
      op.seal = true;
      this.#current[classIndex] = null;
    }
  }

  ops(): TakeOp[] {
    return this.#ops.map(({ classIndex, n, runs, seal }) => ({
      frameClass: frameClasses[classIndex] ?? "text",
      n,
      runs: Uint32Array.from(runs),
      seal,
    }));
  }

  #begin(classIndex: number): GrowingOp {
    const op = { classIndex, n: this.n, runs: [], seal: false };
    this.#current[classIndex] = op;
    this.#ops.push(op);
    return op;
  }
}

const bytesOfClass = frameClasses.map((frameClass) => frameBytes[frameClass]);

function fullBytes(classIndex: number): number {
  return bytesOfClass[classIndex] ?? frameBytes.text;
}
