/**
 * Finds where a file's entry begins and ends in a directory's node, without making objects of it. Verify passes over
 * hundreds of thousands of entries that it has checked before: a changed leaf has one new entry and some twenty old ones.
 *
 * Only entries of plain files are read here: without a segment list, without extended attributes and without fields. For any
 * other entry, and for bytes that break the format, `read` returns false, and the caller decodes the entry (`tree-entry.ts`).
 */

import { varintAt } from "./bytes.ts";
import { idLength } from "./hash.ts";
import { maxInlineSegments } from "./tree-entry.ts";

/** Of a varint: with so many bytes every value is exact. */
const maxVarintBytes = 7;

/** The codes of `tree-entry.ts`. */
const fileType = 0;
const contentCodes = { empty: 0, segments: 1, part: 3 } as const;

/** Mode, uid, gid, seconds, nanoseconds. */
const numbersBeforeSize = 5;

/** Not an end: the bytes end early, or are not what is expected. */
const none = -1;

export class PlainFile {
  nameStart = 0;
  nameEnd = 0;
  /** Size, hash and content, one after the other. */
  contentStart = 0;
  contentEnd = 0;
  /** Where the next entry begins. */
  end = 0;
  /** The segments that the content names. */
  readonly ordinals: number[] = [];

  /** Reads the entry at an offset. False if it is no plain file. */
  read(node: Uint8Array, at: number): boolean {
    if (node[at] !== fileType) return false;
    const afterLength = varintEnd(node, at + 1);
    if (afterLength === none) return false;
    this.nameStart = afterLength;
    this.nameEnd = afterLength + varintAt(node, at + 1);
    this.contentStart = varintsEnd(node, this.nameEnd, numbersBeforeSize);
    if (this.contentStart === none) return false;
    const hashStart = varintEnd(node, this.contentStart);
    if (hashStart === none) return false;
    this.contentEnd = this.#readContent(node, hashStart + idLength);
    if (this.contentEnd === none) return false;
    // No attribute and no field.
    this.end = this.contentEnd + 2;
    return node[this.contentEnd] === 0 && node[this.contentEnd + 1] === 0;
  }

  /** Notes the ordinals of a content. Returns where it ends. */
  #readContent(node: Uint8Array, at: number): number {
    this.ordinals.length = 0;
    const kind = node[at];
    if (kind === contentCodes.empty) return at + 1;
    if (kind === contentCodes.part) return varintsEnd(node, this.#readReference(node, at + 1), 2);
    if (kind !== contentCodes.segments) return none;
    let end = varintEnd(node, at + 1);
    if (end === none) return none;
    const count = varintAt(node, at + 1);
    if (count > maxInlineSegments) return none;
    for (let i = 0; i < count && end !== none; i++) end = varintsEnd(node, this.#readReference(node, end), 1);
    return end;
  }

  #readReference(node: Uint8Array, at: number): number {
    const end = varintEnd(node, at);
    if (end === none) return none;
    this.ordinals.push(varintAt(node, at));
    return end + idLength;
  }
}

/** Where so many varints end. */
function varintsEnd(bytes: Uint8Array, at: number, count: number): number {
  let end = at;
  for (let i = 0; i < count && end !== none; i++) end = varintEnd(bytes, end);
  return end;
}

function varintEnd(bytes: Uint8Array, at: number): number {
  if (at === none) return none;
  for (let end = at; end < at + maxVarintBytes; end++) {
    const byte = bytes[end];
    if (byte === undefined) return none;
    if (byte < 0x80) return end + 1;
  }
  return none;
}
