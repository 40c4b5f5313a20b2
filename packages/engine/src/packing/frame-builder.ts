/**
 * Fills and seals data frames inside a cutting worker. The main thread decides which blocks go to which frame
 * (`slot-allocator.ts`); the builder appends them in that order, so every block gets the slot that its recipe names.
 */

import { ByteWriter } from "../format/bytes.ts";
import type { AllocateFrame, CompressionLevel } from "../format/frame.ts";
import { frameNumber } from "../format/frame.ts";
import { blockIdLength } from "../format/hash.ts";
import { areAllSamplesIncompressible } from "./compressibility.ts";
import type { FrameAppend, FrameClass } from "./frame-class.ts";
import { frameBytes } from "./frame-class.ts";
import type { SealingKey } from "./frame-sealer.ts";
import { FrameSealer } from "./frame-sealer.ts";
import { appendBlockList, OpenDataFrame } from "./open-data-frame.ts";

/** A portion's blocks, in the worker's memory. They are consecutive in `bytes`. */
export interface PortionBlocks {
  readonly bytes: Uint8Array;
  readonly starts: Uint32Array;
  readonly lengths: Uint32Array;
  readonly ids: Uint8Array;
}

/** Capacity for the largest frame: its blocks, one block more, and a block list. Untouched memory costs nothing. */
export const frameBufferBytes = Math.max(...Object.values(frameBytes)) + 64 * 1024 + 128 * 1024;

/**
 * Page bytes that one worker compresses at level `high` in a backup with a base: at most two seconds of a core. The
 * changed pages of one night fit, and most pages that an index rebuild of a database moves. A large database that is
 * added later is compressed at level `medium` beyond this, so its backup does not take much longer.
 */
const highLevelBytes = 256 * 1024 * 1024;

export interface FrameBuilderSession extends SealingKey {
  /** There is a base snapshot: little is new, compared with what is read. */
  readonly hasBase: boolean;
}

export class FrameBuilder {
  readonly #session: FrameBuilderSession;
  readonly #sealer: FrameSealer;
  readonly #allocate: AllocateFrame;
  readonly #onSealed: (n: number, bytes: Uint8Array) => void;
  readonly #open = new Map<FrameClass, OpenDataFrame>();
  readonly #spare: ByteWriter[] = [];
  readonly #blockList = new ByteWriter(4096);
  #highLevelLeft: number;

  /** `allocate` returns memory for a sealed frame, `onSealed` is called with each. */
  constructor(
    session: FrameBuilderSession,
    allocate: AllocateFrame,
    onSealed: (n: number, bytes: Uint8Array) => void,
    highLevel = highLevelBytes,
  ) {
    this.#session = session;
    this.#sealer = new FrameSealer(session);
    this.#highLevelLeft = highLevel;
    this.#allocate = allocate;
    this.#onSealed = onSealed;
  }

  append(append: FrameAppend, portion: PortionBlocks): void {
    const { frameClass, n, runs, seal } = append;
    if (seal && runs.length === 2 && !this.#open.has(frameClass) && this.#sealInPlace(append, portion)) return;
    const frame = this.#frame(frameClass, n);
    for (let i = 0; i < runs.length; i += 2) {
      const { first, end, from, to } = runAt(append, i, portion);
      const ids = portion.ids.subarray(first * blockIdLength, end * blockIdLength);
      frame.appendRun(portion.bytes.subarray(from, to), ids, portion.lengths, first, end);
    }
    if (seal) this.#seal(frameClass, frame);
  }

  /**
   * Seals a frame that is one run of a portion directly from the portion's memory, without a copy. The block list is
   * written behind the run and the bytes there are restored afterwards. Returns false if the memory ends too early.
   */
  #sealInPlace(append: FrameAppend, portion: PortionBlocks): boolean {
    const { first, end, from, to } = runAt(append, 0, portion);
    const blockList = this.#blockList;
    blockList.reset();
    const ids = portion.ids.subarray(first * blockIdLength, end * blockIdLength);
    appendBlockList(blockList, { ids, lengths: portion.lengths.subarray(first, end) });
    const after = to + blockList.length;
    if (after > portion.bytes.length) return false;
    const level = this.#levelFor(append.frameClass, portion.bytes.subarray(from, to), after - from);
    const behind = new Uint8Array(portion.bytes.subarray(to, after));
    portion.bytes.set(blockList.view(), to);
    try {
      this.#sealPlain(append.n, portion.bytes.subarray(from, after), level);
    } finally {
      portion.bytes.set(behind, to);
    }
    return true;
  }

  #frame(frameClass: FrameClass, n: number): OpenDataFrame {
    const open = this.#open.get(frameClass);
    if (open !== undefined) {
      if (open.number !== n) throw new Error("a frame was begun before the last one of its class was sealed");
      return open;
    }
    const frame = new OpenDataFrame(n, this.#spare.pop() ?? new ByteWriter(frameBufferBytes));
    this.#open.set(frameClass, frame);
    return frame;
  }

  #seal(frameClass: FrameClass, frame: OpenDataFrame): void {
    this.#open.delete(frameClass);
    const plain = frame.plain;
    const blocks = plain.length;
    appendBlockList(plain, frame.blockList());
    const level = this.#levelFor(frameClass, plain.view().subarray(0, blocks), plain.length);
    this.#sealPlain(frame.number, plain.view(), level);
    plain.reset();
    this.#spare.push(plain);
  }

  #sealPlain(n: number, plain: Uint8Array, level: CompressionLevel): void {
    const frame = frameNumber(this.#session.session, n);
    this.#onSealed(n, this.#sealer.seal("data", frame, 0, plain, level, this.#allocate));
  }

  /** `plainBytes`: length of the blocks and the block list. */
  #levelFor(frameClass: FrameClass, blocks: Uint8Array, plainBytes: number): CompressionLevel {
    if (frameClass === "incompressible" || areAllSamplesIncompressible(blocks)) return "none";
    if (frameClass !== "page" || !this.#session.hasBase) return "fast";
    if (this.#highLevelLeft <= 0) return "medium";
    this.#highLevelLeft -= plainBytes;
    return "high";
  }
}

/** A run of blocks: its first block and the block after it, and where its bytes start and end. */
function runAt({ runs }: FrameAppend, i: number, { starts, lengths }: PortionBlocks) {
  const first = runs[i] ?? 0;
  const end = first + (runs[i + 1] ?? 0);
  return { first, end, from: starts[first] ?? 0, to: (starts[end - 1] ?? 0) + (lengths[end - 1] ?? 0) };
}
