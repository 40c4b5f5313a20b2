/**
 * Frames that upkeep reads and lays down again. What is laid down again may become the only copy: every block is proved
 * against the id that the index has for it.
 */

import { appendDirectory } from "../backup/frame-shop.ts";
import { hooksOf } from "../backup/matcher.ts";
import { frameBytes } from "../backup/protocol.ts";
import { ByteWriter } from "../bytes.ts";
import { isDenseAllOver } from "../cutter/density.ts";
import type { FrameDirectory } from "../frames/directory.ts";
import { decodeDirectory, encodeDirectory, slotId } from "../frames/directory.ts";
import type { FrameReader } from "../frames/frame-reader.ts";
import { DamageError } from "../frames/frame-reader.ts";
import { isBlock } from "../hash.ts";
import type { FrameRow } from "../index/port.ts";
import type { ProvedSegment } from "../restore/window.ts";
import type { Vault } from "../vault.ts";
import type { RewriteSession } from "./rewrite-session.ts";

export interface ProvedBlock {
  readonly id: Uint8Array;
  readonly block: Uint8Array;
}

/** A frame's blocks by the index's directory, each proved when it is asked for; none where the frame does not open. */
export interface ProvedFrame {
  /** The version that was read; null where the index has none. */
  readonly row: FrameRow | null;
  get(slot: number): ProvedBlock | null;
}

export async function provedFrame(vault: Vault, reader: FrameReader, frame: number): Promise<ProvedFrame> {
  const [row = null] = await vault.index.frames([frame]);
  try {
    const { starts, blocks } = await reader.dataFrame(frame);
    const directory = decodeDirectory(row?.directory ?? new Uint8Array(0));
    const get = (slot: number) => {
      const block = blocks.subarray(starts[slot], starts[slot + 1]);
      const id = slotId(directory, slot);
      const proved = block.length === directory.lengths[slot] && isBlock(vault.keys.blockIdKey, id, block);
      return proved ? { id, block } : null;
    };
    return { row, get };
  } catch (error) {
    if (error instanceof DamageError) return { row, get: () => null };
    throw error;
  }
}

/** Fills new data frames, one after the other. */
export class FrameMaker {
  readonly #session: RewriteSession;
  readonly records = new Map<number, { record: number; directory: FrameDirectory }>();
  #open: { frame: number; plain: ByteWriter; ids: ByteWriter; lengths: number[] } | null = null;

  constructor(session: RewriteSession) {
    this.#session = session;
  }

  add(id: Uint8Array, block: Uint8Array): { frame: number; slot: number } {
    this.#open ??= {
      frame: this.#session.nextFrame(),
      plain: new ByteWriter(1 << 20),
      ids: new ByteWriter(4096),
      lengths: [],
    };
    const open = this.#open;
    open.plain.raw(block);
    open.ids.raw(id);
    open.lengths.push(block.length);
    const place = { frame: open.frame, slot: open.lengths.length - 1 };
    if (open.plain.length >= frameBytes.page) this.flush();
    return place;
  }

  flush(): void {
    const open = this.#open;
    if (open === null) return;
    this.#open = null;
    const directory = { ids: open.ids.take(), lengths: Uint32Array.from(open.lengths) };
    this.records.set(open.frame, { record: putDirectory(this.#session, open.frame, 0, directory), directory });
    sealData(this.#session, open.frame, 0, open.plain, directory);
  }
}

/** Seals a data frame's blocks with its directory. */
export function sealData(
  session: RewriteSession,
  frame: number,
  generation: number,
  plain: ByteWriter,
  directory: FrameDirectory,
): void {
  const effort = isDenseAllOver(plain.view()) ? "none" : "quick";
  appendDirectory(plain, directory);
  session.putFrame("data", frame, generation, plain.view(), effort);
}

/** Writes the metadata's copy of a frame's directory; returns the metadata frame. */
export function putDirectory(
  session: RewriteSession,
  frame: number,
  generation: number,
  directory: FrameDirectory,
): number {
  return session.putRecord({ kind: "directory", frame, generation, directory: encodeDirectory(directory) });
}

/** A segment's hooks: those it always had, since its blocks are the same. */
export function hooksIn({ ids, runs, lengths }: Exclude<ProvedSegment, string>): bigint[] {
  const zeros = new Uint8Array(lengths.length);
  let at = 0;
  for (const { frame, count } of runs) {
    if (frame === 0) zeros.fill(1, at, at + count);
    at += count;
  }
  return hooksOf(ids, zeros, 0, lengths.length);
}
