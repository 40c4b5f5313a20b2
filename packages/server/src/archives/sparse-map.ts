/**
 * Sparse files: an archive holds only the parts of a file that have data, and a map of where they belong. GNU tar writes
 * the map in four forms: in the header (type `S`), in extended headers (0.0 and 0.1), and before the content (1.0).
 */

import { type ExtendedRecords, readDecimal } from "./extended-header.ts";
import { InvalidArchiveError } from "./invalid-archive.ts";
import { blockSize, fieldOf, readNumber, sizeOf } from "./tar-header.ts";

/** A disk image of a terabyte with a hole every four megabytes has this many. They are in memory while it is read. */
export const maxSparseParts = 256 * 1024;

/** Parts of the expanded file, in order. Their bytes follow each other in the archive. */
export interface SparseMap {
  readonly parts: readonly SparsePart[];
  /** Size of the expanded file. */
  readonly realSize: number;
}

export interface SparsePart {
  readonly offset: number;
  readonly length: number;
}

/** Numbers of one part in a header of type `S`: offset and length, 12 bytes each. */
const fieldBytes = 12;
const partBytes = 2 * fieldBytes;

/** Parts in one block that continues a header of type `S`. */
const partsPerBlock = 21;

/** Collects the parts of a map and checks each: in order, without overlaps, inside the file. */
export class SparseMapBuilder {
  readonly #parts: SparsePart[] = [];
  #end = 0;

  add(offset: number, length: number): void {
    if (offset < this.#end || !Number.isSafeInteger(offset + length)) throw malformed();
    this.#end = offset + length;
    if (length === 0) return;
    if (this.#parts.length >= maxSparseParts) throw new InvalidArchiveError("header_too_large");
    this.#parts.push({ offset, length });
  }

  /** Refuses a map whose parts do not have the bytes that the archive has. */
  finish(realSize: number, storedSize: number): SparseMap {
    const stored = this.#parts.reduce((sum, { length }) => sum + length, 0);
    if (this.#end > realSize || stored !== storedSize) throw malformed();
    return { parts: this.#parts, realSize };
  }
}

/** Adds the parts of a header of type `S`, or of a block that continues it. Returns whether another block follows. */
export function addHeaderParts(map: SparseMapBuilder, block: Buffer, path: Uint8Array, isFirst: boolean): boolean {
  const parts = isFirst ? fieldOf(block, "sparseParts") : block.subarray(0, partsPerBlock * partBytes);
  for (let at = 0; at + partBytes <= parts.length; at += partBytes) {
    const [offset, length] = [parts.subarray(at, at + fieldBytes), parts.subarray(at + fieldBytes, at + partBytes)];
    if (length[0] === 0) break;
    map.add(sizeOf(readNumber(offset, path), path), sizeOf(readNumber(length, path), path));
  }
  const more = isFirst ? fieldOf(block, "sparseIsExtended") : block.subarray(partsPerBlock * partBytes);
  return more[0] !== 0;
}

/** What extended headers say about a sparse file. */
export interface SparseRecords {
  /** `body`: the map stands before the content. `none`: no sparse file. */
  readonly place: "none" | "records" | "body";
  readonly realSize: number;
  readonly name: Buffer | null;
  readonly map: SparseMapBuilder;
}

export function readSparseRecords(records: ExtendedRecords): SparseRecords {
  const map = new SparseMapBuilder();
  const last = new Map(records.filter(([key]) => key.startsWith("GNU.sparse.")));
  const value = (key: string) => last.get(`GNU.sparse.${key}`);
  const size = value("realsize") ?? value("size");
  const name = value("name") ?? null;
  if (size === undefined) return { place: "none", realSize: 0, name, map };
  const found = { realSize: readDecimal(size), name, map };
  if (value("major")?.equals(Buffer.from("1"))) return { place: "body", ...found };
  const listed = value("map");
  if (listed !== undefined) addListedParts(map, listed.toString("latin1").split(","));
  else addRepeatedParts(map, records);
  return { place: "records", ...found };
}

function addListedParts(map: SparseMapBuilder, numbers: readonly string[]): void {
  if (numbers.length % 2 !== 0) throw malformed();
  for (let at = 0; at < numbers.length; at += 2) {
    map.add(readDecimal(Buffer.from(numbers[at] ?? "")), readDecimal(Buffer.from(numbers[at + 1] ?? "")));
  }
}

function addRepeatedParts(map: SparseMapBuilder, records: ExtendedRecords): void {
  let offset: number | null = null;
  for (const [key, value] of records) {
    if (key === "GNU.sparse.offset") offset = readDecimal(value);
    if (key !== "GNU.sparse.numbytes") continue;
    if (offset === null) throw malformed();
    map.add(offset, readDecimal(value));
    offset = null;
  }
}

/** More digits than any number of a map has. */
const maxDigits = 19;

/**
 * Reads the map before the content, block by block: a count, then offset and length of each part, one number per line.
 * The content begins with the next block.
 */
export class BodyMapReader {
  readonly #map: SparseMapBuilder;
  #line = "";
  #left: number | null = null;
  #offset: number | null = null;
  /** Bytes of the body that the map takes. */
  size = 0;

  constructor(map: SparseMapBuilder) {
    this.#map = map;
  }

  get isComplete(): boolean {
    return this.#left === 0;
  }

  /** Takes the next block of the body. */
  add(block: Buffer): void {
    this.size += blockSize;
    for (let at = 0; at < block.length && !this.isComplete; ) {
      const end = block.indexOf(0x0a, at);
      this.#line += block.toString("latin1", at, end < 0 ? block.length : end);
      if (this.#line.length > maxDigits) throw malformed();
      if (end < 0) return;
      this.#addNumber(readDecimal(Buffer.from(this.#line)));
      this.#line = "";
      at = end + 1;
    }
  }

  #addNumber(number: number): void {
    if (this.#left === null) {
      if (number > maxSparseParts) throw new InvalidArchiveError("header_too_large");
      this.#left = number;
    } else if (this.#offset === null) {
      this.#offset = number;
    } else {
      this.#map.add(this.#offset, number);
      this.#offset = null;
      this.#left--;
    }
  }
}

function malformed(): InvalidArchiveError {
  return new InvalidArchiveError("malformed_sparse_map");
}
