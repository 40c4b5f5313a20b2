/**
 * The messages that ask what is stored.
 *
 *   offer   request  varint segments, each: id (32) · varint blocks, 16 bytes each · hooks · varint old segments, each varint
 *                    ordinal · u8 continues · preceding hooks
 *           hooks    varint count · 8 bytes each, signed
 *           answer   varint segments, each: varint ordinal · if it is 0, places of the blocks
 *           places   runs until all blocks have a place: varint blocks · varint frame (0: not stored) · if it is not 0,
 *                    varint slot of the first block; the next blocks are in the next slots
 *   nodes   request  varint nodes, 32 bytes each
 *           answer   varint nodes, each varint ordinal, 0 if the node is not known
 */

import type { SegmentAnswer, SegmentQuery } from "../backup/upload-target.ts";
import { maxNodesPerOffer, maxSegmentsPerOffer } from "../backup/upload-target.ts";
import type { ByteReader, ByteWriter } from "../format/bytes.ts";
import { FormatError } from "../format/bytes.ts";
import { blockIdLength, idLength } from "../format/hash.ts";
import {
  endMessage,
  readAnswer,
  readCount,
  readFlag,
  readHooks,
  readList,
  readRequest,
  startAnswer,
  startRequest,
  writeHooks,
} from "./message.ts";

/** Hooks of a query. A bundle has 48 at most; a larger list makes the service search longer. */
const maxHooksPerQuery = 64;

/** Old segments of a query: those at one place of a file, and a segment is at least 256 KiB long. */
const maxOldSegments = 64;

/** Blocks of a segment: 4 MiB of the shortest files of a bundle, each a block of its own. */
const maxBlocksPerSegment = 1 << 18;

/** Id, and a byte for each of four counts and the flag. */
const minQueryBytes = idLength + 5;

export function encodeOffer(queries: readonly SegmentQuery[]): Buffer {
  const writer = startRequest("offer", 4096).varint(queries.length);
  for (const { id, blockIds, hooks, oldSegments, continues, precedingHooks } of queries) {
    if (id.length !== idLength || blockIds.length % blockIdLength !== 0) throw new FormatError("not a segment query");
    writer
      .raw(id)
      .varint(blockIds.length / blockIdLength)
      .raw(blockIds);
    writeHooks(writer, hooks);
    writer.varint(oldSegments.length);
    for (const ordinal of oldSegments) writer.varint(ordinal);
    writer.u8(continues ? 1 : 0);
    writeHooks(writer, precedingHooks);
  }
  return endMessage(writer);
}

export function decodeOffer(bytes: Uint8Array): SegmentQuery[] {
  return readRequest("offer", bytes, (reader) =>
    readList(reader, "segments", maxSegmentsPerOffer, minQueryBytes, readQuery),
  );
}

function readQuery(reader: ByteReader): SegmentQuery {
  const id = reader.raw(idLength);
  const blocks = readCount(reader, "blocks of a segment", maxBlocksPerSegment, blockIdLength);
  return {
    id,
    blockIds: reader.raw(blocks * blockIdLength),
    hooks: readHooks(reader, maxHooksPerQuery),
    oldSegments: readList(reader, "old segments", maxOldSegments, 1, (from) => from.varint()),
    continues: readFlag(reader, "continues"),
    precedingHooks: readHooks(reader, maxHooksPerQuery),
  };
}

export function encodeSegmentAnswers(answers: readonly SegmentAnswer[]): Buffer {
  const writer = startAnswer("offer", 1024).varint(answers.length);
  for (const answer of answers) {
    writer.varint(answer.ordinal);
    if (answer.ordinal === 0) writePlaces(writer, answer);
  }
  return endMessage(writer);
}

function writePlaces(writer: ByteWriter, { frames, slots }: SegmentAnswer): void {
  for (let at = 0; at < frames.length; ) {
    const [frame, slot] = [frames[at] ?? 0, slots[at] ?? 0];
    let end = at + 1;
    while (end < frames.length && frames[end] === frame && (frame === 0 || slots[end] === slot + end - at)) end++;
    writer.varint(end - at).varint(frame);
    if (frame !== 0) writer.varint(slot);
    at = end;
  }
}

/** Reads the answers to queries with these numbers of blocks. */
export function decodeSegmentAnswers(bytes: Uint8Array, blocksOf: readonly number[]): SegmentAnswer[] {
  return readAnswer("offer", bytes, (reader) => {
    const count = reader.varint();
    if (count !== blocksOf.length) throw new FormatError(`${count} answers to ${blocksOf.length} segments`);
    return blocksOf.map((blocks) => {
      const ordinal = reader.varint();
      return { ordinal, ...(ordinal === 0 ? readPlaces(reader, blocks) : noPlaces) };
    });
  });
}

const noPlaces = { frames: new Float64Array(0), slots: new Uint32Array(0) };

/** A slot is a number below 2^24, which `Uint32Array` holds. */
const maxSlot = 2 ** 24;

function readPlaces(reader: ByteReader, blocks: number): Pick<SegmentAnswer, "frames" | "slots"> {
  const frames = new Float64Array(blocks);
  const slots = new Uint32Array(blocks);
  for (let at = 0; at < blocks; ) {
    const count = reader.varint();
    if (count === 0 || count > blocks - at) throw new FormatError("a run of blocks is empty or too long");
    const frame = reader.varint();
    const slot = frame === 0 ? 0 : reader.varint();
    if (slot + count > maxSlot) throw new FormatError("a slot is out of range");
    frames.fill(frame, at, at + count);
    if (frame !== 0) for (let i = 0; i < count; i++) slots[at + i] = slot + i;
    at += count;
  }
  return { frames, slots };
}

export function encodeNodeOffer(ids: readonly Uint8Array[]): Buffer {
  const writer = startRequest("nodes", 16 + ids.length * idLength).varint(ids.length);
  for (const id of ids) {
    if (id.length !== idLength) throw new FormatError("not the id of a node");
    writer.raw(id);
  }
  return endMessage(writer);
}

export function decodeNodeOffer(bytes: Uint8Array): Buffer[] {
  return readRequest("nodes", bytes, (reader) =>
    readList(reader, "nodes", maxNodesPerOffer, idLength, (from) => from.raw(idLength)),
  );
}

export function encodeNodeAnswers(ordinals: readonly (number | null)[]): Buffer {
  const writer = startAnswer("nodes").varint(ordinals.length);
  for (const ordinal of ordinals) writer.varint(ordinal ?? 0);
  return endMessage(writer);
}

/** Reads the answers to so many nodes. */
export function decodeNodeAnswers(bytes: Uint8Array, nodes: number): (number | null)[] {
  return readAnswer("nodes", bytes, (reader) => {
    const ordinals = readList(reader, "nodes", maxNodesPerOffer, 1, (from) => from.varint());
    if (ordinals.length !== nodes) throw new FormatError(`${ordinals.length} answers to ${nodes} nodes`);
    return ordinals.map((ordinal) => (ordinal === 0 ? null : ordinal));
  });
}
