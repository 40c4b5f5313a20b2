/**
 * Tagged fields: the parts of the format that later versions may add to. A reader skips a tag that it does not know by
 * the field's length, so a new field needs no new format version.
 *
 *   fields   varint count · per field: varint tag · bytes value
 *
 * Tags rise from field to field, so no field occurs twice. *Kinds* are different: a kind says how to read what follows,
 * so a reader that does not know it must stop. `UnknownKindError` names the kind.
 */

import type { ByteReader, ByteWriter } from "./bytes.ts";
import { FormatError } from "./bytes.ts";

/** Far more than any part of the format has; a larger count is not ours. */
const maxFields = 64;

export type Fields = ReadonlyMap<number, Uint8Array>;

const none: Fields = new Map();

/** A kind that a later version of the format may define and this one does not know. */
export class UnknownKindError extends FormatError {
  /** What has the kind (`slot`, `pack`, …), and its number. */
  readonly what: string;
  readonly kind: number;

  constructor(what: string, kind: number) {
    super(`${what} kind ${kind} is not known to this version`);
    this.what = what;
    this.kind = kind;
  }
}

/** Appends fields in the order of their tags. Fields without a value are left out. */
export function writeFields(writer: ByteWriter, fields: Iterable<readonly [number, Uint8Array | null]>): void {
  const present = [...fields].filter((field): field is [number, Uint8Array] => field[1] !== null);
  present.sort(([a], [b]) => a - b);
  writer.varint(present.length);
  for (const [tag, value] of present) writer.varint(tag).bytes(value);
}

/** Reads fields from the reader's place on. Values are views into the reader's bytes. */
export function readFields(reader: ByteReader): Fields {
  const count = reader.varint();
  if (count === 0) return none;
  if (count > maxFields) throw new FormatError("too many fields");
  const fields = new Map<number, Uint8Array>();
  let before = -1;
  for (let i = 0; i < count; i++) {
    const tag = reader.varint();
    if (tag <= before) throw new FormatError("fields are out of order");
    fields.set(tag, reader.bytes());
    before = tag;
  }
  return fields;
}
