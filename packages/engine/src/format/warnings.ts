/**
 * The warnings of a backup: files that are not in the snapshot as they should be. All of them are kept in the manifest. A
 * tree of a million unreadable files must not fill the memory, so the list is compressed while it grows.
 *
 * A lying writer can send a few bytes that stand for millions of warnings. So a reader decodes the list only on request,
 * one chunk at a time, and stops at the number of warnings that the manifest has and at a number of bytes.
 *
 *   warnings   varint chunks, each bytes: zstd of: varint count, each bytes path, text code
 */

import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { ByteReader, ByteWriter, FormatError } from "./bytes.ts";

/** A file that is not in the snapshot as it should be. */
export interface BackupWarning {
  readonly path: Uint8Array;
  /** A system error code, `changed` (while it was read), `special_file` (not a file) or `unreadable`. */
  readonly code: string;
}

/** Plain bytes of a chunk: enough to compress well, little enough to hold. */
const chunkBytes = 256 * 1024;

/** A longer path is cut. Linux takes paths of 4 KiB; a walk that goes down directory by directory can meet longer ones. */
export const maxPathBytes = 64 * 1024;

/** A chunk ends after the warning that fills it: a path, a code and their lengths. */
const maxChunkBytes = chunkBytes + 2 * maxPathBytes;

/** Codes are short words. A longer one is cut. */
const maxCodeLength = 64;

/** What a warning takes beside its path: the code in UTF-8, both lengths, and its share of the chunk's own number. */
const maxOverheadBytes = maxCodeLength * 3 + 16;

/** Plain bytes of a list: ten million paths of 100 bytes. Later warnings are counted and not kept. */
export const maxListBytes = 1024 * 1024 * 1024;

/** A growing list of warnings. */
export class WarningList {
  readonly #chunks: Buffer[] = [];
  #open = new ByteWriter(1024);
  #inOpen = 0;
  #count = 0;
  /** Plain bytes that the list may still take. */
  #bytesLeft: number;

  constructor(maxBytes = maxListBytes) {
    this.#bytesLeft = maxBytes;
  }

  /** All warnings, also those that did not fit. */
  get count(): number {
    return this.#count;
  }

  add({ path, code }: BackupWarning): void {
    this.#count++;
    const kept = path.subarray(0, maxPathBytes);
    const before = this.#open.length;
    if (kept.length + maxOverheadBytes > this.#bytesLeft) return;
    this.#open.bytes(kept).text(code.slice(0, maxCodeLength));
    this.#inOpen++;
    this.#bytesLeft -= this.#open.length - before;
    if (this.#open.length >= chunkBytes) this.#closeChunk();
  }

  /** The list as the manifest keeps it; null if it is empty. */
  encode(): Buffer | null {
    if (this.#inOpen > 0) this.#closeChunk();
    if (this.#chunks.length === 0) return null;
    const out = new ByteWriter().varint(this.#chunks.length);
    for (const chunk of this.#chunks) out.bytes(chunk);
    return out.take();
  }

  #closeChunk(): void {
    const plain = new ByteWriter(this.#open.length + 8).varint(this.#inOpen).raw(this.#open.view());
    this.#chunks.push(zstdCompressSync(plain.view()));
    this.#open = new ByteWriter(1024);
    this.#inOpen = 0;
  }
}

/**
 * Decodes the list that `WarningList.encode` made, chunk by chunk. Throws `FormatError` when it has more warnings than
 * `most`, which is the number in the manifest, or more bytes than a list may have.
 */
export function* decodeWarnings(bytes: Uint8Array, most: number): Generator<BackupWarning> {
  const reader = new ByteReader(bytes);
  const chunks = reader.varint();
  let left = most;
  let bytesLeft = maxListBytes;
  for (let i = 0; i < chunks; i++) {
    const plain = unpacked(reader.bytes());
    const chunk = new ByteReader(plain);
    const count = chunk.varint();
    left -= count;
    bytesLeft -= plain.length;
    if (count === 0 || left < 0) throw new FormatError("a list has more warnings than its manifest");
    if (bytesLeft < 0) throw new FormatError("a list of warnings is too long");
    for (let k = 0; k < count; k++) yield { path: Buffer.from(chunk.bytes()), code: chunk.text() };
    chunk.done();
  }
  reader.done();
}

function unpacked(chunk: Uint8Array): Buffer {
  try {
    return zstdDecompressSync(chunk, { maxOutputLength: maxChunkBytes });
  } catch (cause) {
    throw new FormatError("a list of warnings does not unpack", { cause });
  }
}
