/**
 * Gives out frame numbers and slots. The pipeline decides where a block will be before any worker has compressed it, so
 * recipes are complete at once and two workers never store the same block. One open frame per worker and class.
 */

import { ByteWriter } from "../bytes.ts";
import { encodeDirectory } from "../frames/directory.ts";
import { blockIdLength } from "../hash.ts";
import type { FrameClass, TakeOp } from "./protocol.ts";
import { frameBytes, frameClasses } from "./protocol.ts";

/** A frame's directory entries at most: tiny files would make one that is all directory. */
const maxSlotsPerFrame = 4096;

interface OpenFrame {
  readonly n: number;
  readonly ids: ByteWriter;
  readonly lengths: number[];
  bytes: number;
}

export interface Placement {
  readonly n: number;
  readonly slot: number;
}

export class FrameLedger {
  readonly #nextN: () => number;
  readonly #open = new Map<string, OpenFrame>();
  /** Directories of frames that are sealed or being sealed, until they are registered. */
  readonly directories = new Map<number, Buffer>();
  /** Bytes of directories since this was last set to zero. */
  directoryBytes = 0;

  constructor(nextN: () => number) {
    this.#nextN = nextN;
  }

  /** Starts the list of things that a worker is to do with one portion. */
  order(lane: number): PortionOrder {
    return new PortionOrder(this, lane);
  }

  /** Seals every open frame of a lane. */
  sealAll(lane: number): TakeOp[] {
    const ops: TakeOp[] = [];
    for (const frameClass of frameClasses) {
      const frame = this.#open.get(`${lane} ${frameClass}`);
      if (frame === undefined) continue;
      this.close(lane, frameClass);
      ops.push({ frameClass, n: frame.n, blocks: new Uint32Array(0), seal: true });
    }
    return ops;
  }

  place(
    lane: number,
    frameClass: FrameClass,
    ids: Uint8Array,
    block: number,
    length: number,
  ): Placement & { full: boolean } {
    const key = `${lane} ${frameClass}`;
    let frame = this.#open.get(key);
    if (frame === undefined) {
      frame = { n: this.#nextN(), ids: new ByteWriter(2048), lengths: [], bytes: 0 };
      this.#open.set(key, frame);
    }
    frame.ids.raw(ids.subarray(block * blockIdLength, (block + 1) * blockIdLength));
    frame.lengths.push(length);
    frame.bytes += length;
    const full = frame.bytes >= frameBytes[frameClass] || frame.lengths.length >= maxSlotsPerFrame;
    if (full) this.close(lane, frameClass);
    return { n: frame.n, slot: frame.lengths.length - 1, full };
  }

  close(lane: number, frameClass: FrameClass): void {
    const key = `${lane} ${frameClass}`;
    const frame = this.#open.get(key);
    if (frame === undefined) return;
    this.#open.delete(key);
    const directory = { ids: frame.ids.view(), lengths: Uint32Array.from(frame.lengths) };
    const encoded = encodeDirectory(directory);
    frame.ids.free();
    this.directories.set(frame.n, encoded);
    this.directoryBytes += encoded.length;
  }
}

/** The blocks that one portion's worker is told to take, frame by frame. */
export class PortionOrder {
  readonly #ledger: FrameLedger;
  readonly #lane: number;
  readonly #ops: { frameClass: FrameClass; n: number; blocks: number[]; seal: boolean }[] = [];
  readonly #current = new Map<FrameClass, { frameClass: FrameClass; n: number; blocks: number[]; seal: boolean }>();

  constructor(ledger: FrameLedger, lane: number) {
    this.#ledger = ledger;
    this.#lane = lane;
  }

  take(frameClass: FrameClass, ids: Uint8Array, block: number, length: number): Placement {
    const placed = this.#ledger.place(this.#lane, frameClass, ids, block, length);
    let op = this.#current.get(frameClass);
    if (op === undefined) {
      op = { frameClass, n: placed.n, blocks: [], seal: false };
      this.#current.set(frameClass, op);
      this.#ops.push(op);
    }
    op.blocks.push(block);
    if (placed.full) {
      op.seal = true;
      this.#current.delete(frameClass);
    }
    return placed;
  }

  ops(): TakeOp[] {
    return this.#ops.map(({ frameClass, n, blocks, seal }) => ({
      frameClass,
      n,
      blocks: Uint32Array.from(blocks),
      seal,
    }));
  }
}
