/**
 * The warnings of a backup: files that are not in the snapshot as they should be. All of them are kept in the manifest. A
 * tree of a million unreadable files must not fill the memory, so the list is compressed while it grows.
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

/** A chunk ends after the warning that fills it, and a path has at most 64 KiB. */
const maxChunkBytes = chunkBytes + 128 * 1024;

/** A growing list of warnings. */
export class WarningList {
  readonly #chunks: Buffer[] = [];
  #open = new ByteWriter(1024);
  #inOpen = 0;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add({ path, code }: BackupWarning): void {
    this.#open.bytes(path).text(code);
    this.#inOpen++;
    this.#count++;
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

/** The list that `WarningList.encode` made. */
export function decodeWarnings(bytes: Uint8Array): BackupWarning[] {
  const reader = new ByteReader(bytes);
  const chunks = reader.varint();
  const warnings: BackupWarning[] = [];
  for (let i = 0; i < chunks; i++) {
    const chunk = new ByteReader(unpacked(reader.bytes()));
    const count = chunk.varint();
    for (let k = 0; k < count; k++) warnings.push({ path: Buffer.from(chunk.bytes()), code: chunk.text() });
    chunk.done();
  }
  reader.done();
  return warnings;
}

function unpacked(chunk: Uint8Array): Buffer {
  try {
    return zstdDecompressSync(chunk, { maxOutputLength: maxChunkBytes });
  } catch (cause) {
    throw new FormatError("a list of warnings does not unpack", { cause });
  }
}
