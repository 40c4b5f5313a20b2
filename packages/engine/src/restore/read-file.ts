/**
 * Reads a file, or a range of it, as a stream: what a download needs. Only the segments that the range touches are looked
 * up, only their frames are fetched, and each block is proved before it is handed on. The reader keeps a few opened frames,
 * so reading on costs nothing twice.
 */

import { sameBytes } from "../format/bytes.ts";
import { blockId, blockIdLength, fileHash, segmentId } from "../format/hash.ts";
import type { FileEntry, Reference } from "../format/tree-entry.ts";
import { segmentsOf } from "../format/tree-reader.ts";
import type { Vault } from "../vault.ts";
import type { FrameReader } from "./frame-reader.ts";
import { DamageError } from "./frame-reader.ts";
import type { ProvedSegment } from "./window.ts";
import { proveSegments } from "./window.ts";

export interface FileRange {
  readonly offset: number;
  readonly length: number;
}

/** The bytes of a file from `offset` on, at most `length`. Throws `DamageError` before a wrong byte leaves. */
export async function* readFile(
  vault: Vault,
  reader: FrameReader,
  entry: FileEntry,
  range?: FileRange,
): AsyncGenerator<Uint8Array> {
  const from = Math.min(range?.offset ?? 0, entry.size);
  const to = Math.min(entry.size, from + (range?.length ?? entry.size));
  if (entry.content.kind === "part") {
    const { segment, first, count } = entry.content;
    const proved = await prove(vault, segment);
    const ids = proved.ids.subarray(first * blockIdLength, (first + count) * blockIdLength);
    const own = segmentId(ids, proved.lengths.slice(first, first + count));
    if (!sameBytes(fileHash(entry.size, [own]), entry.hash))
      throw new DamageError(0, "a file's blocks do not match its hash");
    yield* readBlocks(vault, reader, [...blocksIn(proved)].slice(first, first + count), ids, 0, from, to);
    return;
  }
  let at = 0;
  const ids: Uint8Array[] = [];
  const wanted: { readonly at: number; readonly reference: Reference }[] = [];
  for await (const segment of segmentsOf(reader, entry.content)) {
    if (at < to && at + segment.bytes > from) wanted.push({ at, reference: segment });
    ids.push(segment.id);
    at += segment.bytes;
  }
  if (!sameBytes(fileHash(entry.size, ids), entry.hash))
    throw new DamageError(0, "a file's segments do not match its hash");
  for (const { at: start, reference } of wanted) {
    const proved = await prove(vault, reference);
    yield* readBlocks(vault, reader, [...blocksIn(proved)], proved.ids, start, from, to);
  }
}

/** Where one block is: frame 0 means zeros, stored nowhere. */
interface Block {
  readonly frame: number;
  readonly slot: number;
  readonly bytes: number;
}

function* blocksIn({ runs, lengths }: Exclude<ProvedSegment, string>): Generator<Block> {
  let at = 0;
  for (const { frame, slot, count } of runs)
    for (let i = 0; i < count; i++) yield { frame, slot: slot + i, bytes: lengths[at++] ?? 0 };
}

async function prove(vault: Vault, reference: Reference) {
  const [proved] = await proveSegments(vault.catalog, vault.keys.blockIdKey, [reference]);
  if (proved === undefined || typeof proved === "string") throw new DamageError(0, proved ?? "a segment is not stored");
  return proved;
}

async function* readBlocks(
  vault: Vault,
  reader: FrameReader,
  blocks: readonly Block[],
  ids: Uint8Array,
  start: number,
  from: number,
  to: number,
): AsyncGenerator<Uint8Array> {
  let at = start;
  for (const [i, { frame, slot, bytes }] of blocks.entries()) {
    const first = Math.max(0, from - at);
    const last = Math.min(bytes, to - at);
    at += bytes;
    if (first >= last) continue;
    if (frame === 0) {
      yield Buffer.alloc(last - first);
      continue;
    }
    const { starts, blocks: plain } = await reader.dataFrame(frame);
    const block = plain.subarray(starts[slot], starts[slot + 1]);
    const id = ids.subarray(i * blockIdLength, (i + 1) * blockIdLength);
    if (block.length !== bytes || !sameBytes(blockId(vault.keys.blockIdKey, block), id)) {
      throw new DamageError(frame, `slot ${slot} is not what its id says`);
    }
    yield Buffer.from(block.subarray(first, last));
  }
}
