/**
 * Reads a file of a snapshot, or a range of it, as a stream: for a download.
 *
 * In: the file's tree entry and a range. Out: its bytes in order. Only the segments of the range are looked up, and only
 * their frames are fetched. Every block is compared with its id before its bytes are returned. The frame reader keeps a few
 * opened frames, so a reader that goes on does not fetch them twice.
 */

import { sameBytes } from "../format/bytes.ts";
import { blockId, blockIdLength, fileHash, segmentId } from "../format/hash.ts";
import type { FileEntry, Reference } from "../format/tree-entry.ts";
import { segmentsOf } from "../format/tree-reader.ts";
import type { ReadableVault } from "../vault.ts";
import type { FrameReader } from "./frame-reader.ts";
import { DamageError } from "./frame-reader.ts";
import type { SegmentBlocks } from "./resolve-segments.ts";
import { resolveSegments } from "./resolve-segments.ts";

export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

/** Returns at most `length` bytes of a file from `offset` on. Throws `DamageError` before it returns a wrong byte. */
export async function* readFile(
  vault: ReadableVault,
  reader: FrameReader,
  entry: FileEntry,
  range?: ByteRange,
): AsyncGenerator<Uint8Array> {
  const from = Math.min(range?.offset ?? 0, entry.size);
  const to = Math.min(entry.size, from + (range?.length ?? entry.size));
  if (entry.content.kind === "part") {
    const { segment: reference, first, count } = entry.content;
    const segment = await resolve(vault, reference);
    const ids = segment.ids.subarray(first * blockIdLength, (first + count) * blockIdLength);
    const ownId = segmentId(ids, segment.lengths.slice(first, first + count));
    if (!sameBytes(fileHash(entry.size, [ownId]), entry.hash))
      throw new DamageError(0, "a file's blocks do not match its hash");
    yield* readBlocks(vault, reader, [...blockSlots(segment)].slice(first, first + count), ids, 0, from, to);
    return;
  }
  let at = 0;
  const ids: Uint8Array[] = [];
  const wanted: { readonly start: number; readonly reference: Reference }[] = [];
  for await (const segment of segmentsOf(reader, entry.content)) {
    if (at < to && at + segment.bytes > from) wanted.push({ start: at, reference: segment });
    ids.push(segment.id);
    at += segment.bytes;
  }
  if (!sameBytes(fileHash(entry.size, ids), entry.hash))
    throw new DamageError(0, "a file's segments do not match its hash");
  for (const { start, reference } of wanted) {
    const segment = await resolve(vault, reference);
    yield* readBlocks(vault, reader, [...blockSlots(segment)], segment.ids, start, from, to);
  }
}

/** The slot of one block. Frame 0 stands for zeros, which are not stored. */
interface BlockSlot {
  readonly frame: number;
  readonly slot: number;
  readonly bytes: number;
}

function* blockSlots({ runs, lengths }: SegmentBlocks): Generator<BlockSlot> {
  let at = 0;
  for (const { frame, slot, count } of runs)
    for (let i = 0; i < count; i++) yield { frame, slot: slot + i, bytes: lengths[at++] ?? 0 };
}

async function resolve(vault: ReadableVault, reference: Reference): Promise<SegmentBlocks> {
  const [segment] = await resolveSegments(vault.catalog, vault.keys.blockIdKey, [reference]);
  if (segment === undefined || typeof segment === "string")
    throw new DamageError(0, segment ?? "a segment is not stored");
  return segment;
}

/** Returns the bytes of blocks that are between `from` and `to`; the first block starts at `start`. */
async function* readBlocks(
  vault: ReadableVault,
  reader: FrameReader,
  blocks: readonly BlockSlot[],
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
      throw new DamageError(frame, `slot ${slot} does not match its id`);
    }
    yield Buffer.from(block.subarray(first, last));
  }
}
