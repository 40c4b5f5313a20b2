/**
 * The summary of a directory that holds cached files and nothing else: its digest and what the directory adds to a
 * snapshot. Where the digest is the same as in the last backup, the backup needs nothing else of the directory.
 *
 * Stored as: digest (32 bytes) · varint files · varint size · varint nodes · ordinals, as `encodeOrdinals` writes them.
 */

import { ByteReader, ByteWriter, release } from "../format/bytes.ts";
import { idLength } from "../format/hash.ts";
import { decodeOrdinals, encodeOrdinals } from "../format/ordinal-list.ts";
import { directoryDigest, nameEnd, statFields } from "../source/directory-digest.ts";
import { FileRecord } from "./file-record.ts";

export interface DirectorySummary {
  readonly digest: Uint8Array;
  readonly files: number;
  /** Bytes of all files. */
  readonly size: number;
  /** How many of the cached nodes belong to the directory; the last of them is its root. */
  readonly nodes: number;
  /** Every ordinal that the contents of the files reach. */
  readonly ordinals: readonly number[];
}

export function encodeSummary({ digest, files, size, nodes, ordinals }: DirectorySummary): Buffer {
  const out = new ByteWriter(256).raw(digest).varint(files).varint(size).varint(nodes);
  return out.raw(encodeOrdinals(ordinals)).take();
}

/** Null for no bytes: the directory has no summary. */
export function decodeSummary(bytes: Uint8Array): DirectorySummary | null {
  if (bytes.length === 0) return null;
  const reader = new ByteReader(bytes, idLength);
  const [files, size, nodes] = [reader.varint(), reader.varint(), reader.varint()];
  return { digest: bytes.subarray(0, idLength), files, size, nodes, ordinals: decodeOrdinals(bytes, reader.at) };
}

/** The summary of the records in these parts. The parts are released. */
export function summarize(parts: Iterable<Buffer>, files: number, nodes: number): DirectorySummary {
  const names = new ByteWriter(4096);
  const fields = new Float64Array(files * statFields);
  const ordinals = new Set<number>();
  const addOrdinal = (ordinal: number) => ordinals.add(ordinal);
  const record = new FileRecord();
  let size = 0;
  let index = 0;
  for (const part of parts) {
    for (let at = 0; at < part.length; at = record.end) {
      record.moveTo(part, at);
      names.part(part, record.nameStart, record.nameEnd).u8(nameEnd);
      record.writeStatFields(fields, index++ * statFields);
      record.eachOrdinal(addOrdinal);
      size += record.size;
    }
    release(part);
  }
  if (index !== files) throw new Error("a directory of the cache has another number of records");
  const digest = directoryDigest([names.view()], fields);
  names.free();
  release(new Uint8Array(fields.buffer));
  return { digest, files, size, nodes, ordinals: [...ordinals] };
}
