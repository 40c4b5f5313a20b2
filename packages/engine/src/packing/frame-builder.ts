/**
 * Builds data frames in a worker: appends blocks in slot order and seals full frames. A frame's plain bytes are its
 * blocks back to back, then the block list, then the block list's length (u32): a block's place is the sum of the lengths
 * before it.
 */

import type { BlockList } from "../format/block-list.ts";
import { writeBlockList } from "../format/block-list.ts";
import { ByteWriter } from "../format/bytes.ts";
import type { AllocateFrame, Effort } from "../format/frame.ts";
import { frameNumber, sealFrame } from "../format/frame.ts";
import { blockIdLength } from "../format/hash.ts";
import type { FrameClass, TakeOp, WorkerSession } from "../workers/cut-messages.ts";
import { frameBytes } from "../workers/cut-messages.ts";
import { isDenseAllOver } from "../workers/cutter/density.ts";

/** A portion's bytes, as its worker keeps them until they are taken. */
export interface HeldBlocks {
  readonly bytes: Uint8Array;
  readonly starts: Uint32Array;
  readonly lengths: Uint32Array;
  readonly ids: Uint8Array;
}

/** Room for the largest frame: its blocks, one block beyond, and a block list. Untouched memory costs nothing. */
export const frameBufferBytes = Math.max(...Object.values(frameBytes)) + 64 * 1024 + 128 * 1024;

/**
 * Bytes of an increment that a worker compresses thoroughly: two seconds of a core more at most. A night's changed pages
 * are within it, and most of what a rebuilt catalog moves; whoever adds a large database later does not wait for it.
 */
const thoroughBytes = 256 * 1024 * 1024;

interface OpenFrame {
  readonly n: number;
  readonly plain: ByteWriter;
  readonly lengths: number[];
  readonly ids: ByteWriter;
}

export class FrameBuilder {
  readonly #session: WorkerSession;
  readonly #room: AllocateFrame;
  readonly #sealed: (n: number, bytes: Uint8Array) => void;
  readonly #open = new Map<FrameClass, OpenFrame>();
  readonly #spare: ByteWriter[] = [];
  readonly #blockList = new ByteWriter(4096);
  #counter = 0;
  #thoroughLeft: number;

  /** `room` gives memory for sealed frames, `sealed` hears of each. */
  constructor(
    session: WorkerSession,
    room: AllocateFrame,
    sealed: (n: number, bytes: Uint8Array) => void,
    thoroughly = thoroughBytes,
  ) {
    this.#session = session;
    this.#thoroughLeft = thoroughly;
    this.#room = room;
    this.#sealed = sealed;
  }

  take(op: TakeOp, held: HeldBlocks): void {
    if (op.seal && op.runs.length === 2 && !this.#open.has(op.frameClass) && this.#sealWhereItLies(op, held)) return;
    const frame = this.#frame(op.frameClass, op.n);
    // Blocks of a portion lie back to back, so a run of them is one piece.
    for (let i = 0; i < op.runs.length; i += 2) {
      const { first, end, from, to } = runOf(op, i, held);
      frame.plain.raw(held.bytes.subarray(from, to));
      frame.ids.raw(held.ids.subarray(first * blockIdLength, end * blockIdLength));
      for (let block = first; block < end; block++) frame.lengths.push(held.lengths[block] ?? 0);
    }
    if (op.seal) this.#seal(op.frameClass, frame);
  }

  /**
   * A frame that is one run of a portion is sealed from the portion's own memory, without a copy: its block list is put
   * behind it for as long as that takes. False where there is no room for that.
   */
  #sealWhereItLies(op: TakeOp, held: HeldBlocks): boolean {
    const { first, end, from, to } = runOf(op, 0, held);
    const blockList = this.#blockList;
    blockList.reset();
    const ids = held.ids.subarray(first * blockIdLength, end * blockIdLength);
    appendBlockList(blockList, { ids, lengths: held.lengths.subarray(first, end) });
    const after = to + blockList.length;
    if (after > held.bytes.length) return false;
    const dense = this.#isDense(op.frameClass, held.bytes.subarray(from, to));
    const behind = new Uint8Array(held.bytes.subarray(to, after));
    held.bytes.set(blockList.view(), to);
    try {
      this.#sealPlain(op.frameClass, op.n, held.bytes.subarray(from, after), dense);
    } finally {
      held.bytes.set(behind, to);
    }
    return true;
  }

  #frame(frameClass: FrameClass, n: number): OpenFrame {
    const known = this.#open.get(frameClass);
    if (known !== undefined) {
      if (known.n !== n) throw new Error("frames of one class are filled one after the other");
      return known;
    }
    const frame = {
      n,
      plain: this.#spare.pop() ?? new ByteWriter(frameBufferBytes),
      lengths: [],
      ids: new ByteWriter(4096),
    };
    this.#open.set(frameClass, frame);
    return frame;
  }

  #seal(frameClass: FrameClass, frame: OpenFrame): void {
    this.#open.delete(frameClass);
    const plain = frame.plain;
    const dense = this.#isDense(frameClass, plain.view());
    appendBlockList(plain, { ids: frame.ids.view(), lengths: Uint32Array.from(frame.lengths) });
    this.#sealPlain(frameClass, frame.n, plain.view(), dense);
    plain.reset();
    this.#spare.push(plain);
  }

  #isDense(frameClass: FrameClass, blocks: Uint8Array): boolean {
    return frameClass === "dense" || isDenseAllOver(blocks);
  }

  #sealPlain(frameClass: FrameClass, n: number, plain: Uint8Array, dense: boolean): void {
    const { session, worker, key, binding } = this.#session;
    const seal = {
      kind: "data",
      frame: frameNumber(session, n),
      generation: 0,
      session,
      worker,
      counter: this.#counter++,
      key,
      binding,
    } as const;
    this.#sealed(n, sealFrame(seal, plain, this.#effort(frameClass, dense, plain.length), this.#room));
  }

  #effort(frameClass: FrameClass, dense: boolean, bytes: number): Effort {
    if (dense) return "none";
    if (frameClass !== "page" || !this.#session.increment) return "quick";
    if (this.#thoroughLeft <= 0) return "careful";
    this.#thoroughLeft -= bytes;
    return "thorough";
  }
}

/** A run of an order: its blocks, and where they lie. */
function runOf({ runs }: TakeOp, i: number, { starts, lengths }: HeldBlocks) {
  const first = runs[i] ?? 0;
  const end = first + (runs[i + 1] ?? 0);
  return { first, end, from: starts[first] ?? 0, to: (starts[end - 1] ?? 0) + (lengths[end - 1] ?? 0) };
}

/** Ends a data frame's plain bytes with the block list of the blocks that they start with. */
export function appendBlockList(plain: ByteWriter, blockList: BlockList): void {
  const before = plain.length;
  writeBlockList(plain, blockList);
  plain.u32(plain.length - before);
}
