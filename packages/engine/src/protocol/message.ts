/**
 * The frame of every message of the upload protocol (docs/PROTOCOL.md): a version, the operation, a payload, and fields
 * that later versions may add. A call is one request and one answer.
 *
 *   message   u8 version · u8 operation (an answer: + 128) · payload · fields (none yet)
 *
 * Messages come from programs that may lie. A decoder refuses with `FormatError` what is truncated, too long or has
 * something after its end, and it compares every count with the bytes that are left before it allocates memory.
 */

import { ByteReader, ByteWriter, FormatError, hex } from "../format/bytes.ts";
import { readFields, writeFields } from "../format/fields.ts";

export const protocolVersion = 1;

/** The calls of the upload port. `pack` has the bytes of a pack as its request. */
export const operationCodes = {
  begin: 1,
  ordinals: 2,
  offer: 3,
  nodes: 4,
  register: 5,
  renew: 6,
  complete: 7,
  abandon: 8,
  pack: 9,
} as const;

export type UploadOperation = keyof typeof operationCodes;

/** The operations whose request is a message. */
export type MessageOperation = Exclude<UploadOperation, "pack">;

const answerBit = 0x80;

/**
 * The longest request in bytes. A portion of a backup is 8 MiB of content with 16 bytes per block of 2 KiB, so an offer has
 * some 64 KiB; bundles of tiny files have more. A unit is registered after 4096 segments or 2 MiB of block lists. A
 * manifest has a bit per ordinal, and its warnings.
 */
export const maxRequestBytes: Readonly<Record<UploadOperation, number>> = {
  begin: 256,
  ordinals: 256,
  offer: 8 * 1024 * 1024,
  nodes: 128 * 1024,
  register: 16 * 1024 * 1024,
  renew: 256,
  complete: 64 * 1024 * 1024,
  abandon: 256,
  pack: 64 * 1024 * 1024,
};

/** The longest answer in bytes. That of an offer can have a place for every block of the offer. */
export const maxAnswerBytes = 32 * 1024 * 1024;

/** Begins a request. */
export function startRequest(operation: UploadOperation, capacity = 64): ByteWriter {
  return new ByteWriter(capacity).u8(protocolVersion).u8(operationCodes[operation]);
}

/** Begins an answer. */
export function startAnswer(operation: UploadOperation, capacity = 64): ByteWriter {
  return new ByteWriter(capacity).u8(protocolVersion).u8(operationCodes[operation] | answerBit);
}

/** Ends a message. */
export function endMessage(writer: ByteWriter): Buffer {
  writeFields(writer, []);
  const bytes = writer.take();
  writer.free();
  return bytes;
}

/** Reads a request: `read` reads its payload. */
export function readRequest<T>(operation: UploadOperation, bytes: Uint8Array, read: (from: ByteReader) => T): T {
  if (bytes.length > maxRequestBytes[operation]) throw new FormatError(`the request ${operation} is too long`);
  return readMessage(`the request ${operation}`, operationCodes[operation], bytes, read);
}

/** Reads an answer. */
export function readAnswer<T>(operation: UploadOperation, bytes: Uint8Array, read: (from: ByteReader) => T): T {
  if (bytes.length > maxAnswerBytes) throw new FormatError(`the answer to ${operation} is too long`);
  return readMessage(`the answer to ${operation}`, operationCodes[operation] | answerBit, bytes, read);
}

/** Reads a message: `read` reads its payload. */
export function readMessage<T>(what: string, code: number, bytes: Uint8Array, read: (from: ByteReader) => T): T {
  const reader = new ByteReader(bytes);
  try {
    const version = reader.u8();
    if (version !== protocolVersion) throw new FormatError(`version ${version} is not known`);
    const found = reader.u8();
    if (found !== code) throw new FormatError(`operation ${found} instead of ${code}`);
    const value = read(reader);
    readFields(reader);
    reader.done();
    return value;
  } catch (error) {
    if (error instanceof FormatError) throw new FormatError(`${what}: ${error.message}`, { cause: error });
    throw error;
  }
}

/** A message without a payload. */
export function emptyRequest(operation: "renew" | "abandon"): Buffer {
  return endMessage(startRequest(operation));
}

/** Reads a request without a payload. */
export function readEmptyRequest(operation: "renew" | "abandon", bytes: Uint8Array): void {
  readRequest(operation, bytes, () => {});
}

/** An answer without a payload: what was asked for is done. */
export function doneAnswer(operation: UploadOperation): Buffer {
  return endMessage(startAnswer(operation));
}

/** Reads an answer without a payload. */
export function readDoneAnswer(operation: UploadOperation, bytes: Uint8Array): void {
  readAnswer(operation, bytes, () => {});
}

/** Reads a count of things of which each takes at least `minBytes` of what is left. */
export function readCount(reader: ByteReader, what: string, most: number, minBytes: number): number {
  const count = reader.varint();
  if (count > most) throw new FormatError(`too many ${what}: ${count}, at most ${most}`);
  if (count * minBytes > reader.left) throw new FormatError(`${count} ${what} do not fit into the message`);
  return count;
}

/** Reads a list: a count, then each element. */
export function readList<T>(
  reader: ByteReader,
  what: string,
  most: number,
  minBytes: number,
  read: (from: ByteReader) => T,
): T[] {
  const count = readCount(reader, what, most, minBytes);
  return Array.from({ length: count }, () => read(reader));
}

/** Ids of packs and snapshots have 16 bytes. */
export const nameLength = 16;

const hexName = /^[0-9a-f]{32}$/;

/** Appends the id of a pack or snapshot. */
export function writeName(writer: ByteWriter, name: string): void {
  if (!hexName.test(name)) throw new FormatError("an id is not 16 bytes in hexadecimal");
  writer.raw(Buffer.from(name, "hex"));
}

export function readName(reader: ByteReader): string {
  return hex(reader.raw(nameLength));
}

/** Reads a byte that is 0 or 1. */
export function readFlag(reader: ByteReader, what: string): boolean {
  const flag = reader.u8();
  if (flag > 1) throw new FormatError(`${what} is ${flag}, not 0 or 1`);
  return flag === 1;
}

const hookLength = 8;

/** Reads a list of hooks: 8 bytes each, signed, little-endian. */
export function readHooks(reader: ByteReader, most: number): bigint[] {
  return readList(reader, "hooks", most, hookLength, readHook);
}

export function readHook(reader: ByteReader): bigint {
  return reader.raw(hookLength).readBigInt64LE();
}

export function writeHooks(writer: ByteWriter, hooks: readonly bigint[]): void {
  writer.varint(hooks.length);
  for (const hook of hooks) writer.i64(hook);
}
