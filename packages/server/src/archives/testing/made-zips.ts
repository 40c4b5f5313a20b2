/** For tests: zip archives made by hand, in which every number can be wrong, and what was received of them. */

import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { crc32, deflateRawSync } from "node:zlib";
import { RestoreWorkerPool } from "@emanet/engine";
import type { InvalidArchiveError } from "../invalid-archive.ts";
import { type ReceiveZipOptions, receiveZip } from "../receive-zip.ts";
import type { Spool } from "../spool.ts";
import { inPieces, type Seen, seenIn } from "../testing.ts";
import { signatures } from "../zip-format.ts";

/** What headers say. */
interface Said {
  readonly name: Buffer;
  readonly flags: number;
  readonly method: number;
  readonly crc: number;
  readonly length: number;
  readonly size: number;
  readonly extra: Buffer;
}

export interface MadeEntry {
  readonly name: string | Buffer;
  readonly content?: string | Buffer;
  readonly method?: number;
  /** The bytes in the archive, if they are not what the method makes of the content. */
  readonly stored?: Buffer;
  readonly system?: number;
  /** Of Unix, with the type. */
  readonly mode?: number;
  /** Of DOS. */
  readonly attributes?: number;
  readonly dosTime?: number;
  readonly dosDate?: number;
  /** What both headers say, what only the directory says, and what only the local header says. */
  readonly said?: Partial<Said>;
  readonly record?: Partial<Said> & { readonly offset?: number; readonly disk?: number };
  readonly local?: Partial<Said>;
  /** After the content. */
  readonly descriptor?: Buffer;
  /** Before the local header. */
  readonly before?: Buffer;
}

export interface MadeEnd {
  readonly count?: number;
  readonly size?: number;
  readonly offset?: number;
  readonly disk?: number;
  readonly comment?: Buffer;
  /** Between the directory and the end record. */
  readonly before?: Buffer;
}

const flagUtf8 = 0x800;

/** A zip of these entries. Everything that is not given is right. */
export function zip(entries: readonly MadeEntry[], end: MadeEnd = {}): Buffer {
  const parts: Buffer[] = [];
  const records: Buffer[] = [];
  let offset = 0;
  const add = (...bytes: Buffer[]) => {
    for (const each of bytes) offset += each.length;
    parts.push(...bytes);
  };
  for (const entry of entries) {
    const { said, stored } = saidOf(entry);
    if (entry.before !== undefined) add(entry.before);
    records.push(recordOf(entry, { ...said, ...entry.record }, entry.record?.offset ?? offset));
    add(localOf({ ...said, ...entry.local }), stored, ...(entry.descriptor === undefined ? [] : [entry.descriptor]));
  }
  const directory = Buffer.concat(records);
  return Buffer.concat([
    ...parts,
    directory,
    end.before ?? Buffer.alloc(0),
    endOf(entries.length, directory, offset, end),
  ]);
}

function saidOf({ name, content = "", method = 0, stored, said }: MadeEntry): { said: Said; stored: Buffer } {
  const bytes = Buffer.from(content);
  const made = stored ?? (method === 8 ? deflateRawSync(bytes) : bytes);
  const numbers = { crc: crc32(bytes), length: made.length, size: bytes.length };
  return {
    stored: made,
    said: { name: Buffer.from(name), flags: flagUtf8, method, ...numbers, extra: Buffer.alloc(0), ...said },
  };
}

function localOf({ name, flags, method, crc, length, size, extra }: Said): Buffer {
  const header = Buffer.alloc(30);
  header.writeUInt32LE(signatures.local, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt16LE(flags, 6);
  header.writeUInt16LE(method, 8);
  for (const [at, value] of [
    [14, crc],
    [18, length],
    [22, size],
  ] as const)
    header.writeUInt32LE(value, at);
  header.writeUInt16LE(name.length, 26);
  header.writeUInt16LE(extra.length, 28);
  return Buffer.concat([header, name, extra]);
}

/** 1 January 2020. */
const someDate = (40 << 9) | (1 << 5) | 1;

function recordOf(entry: MadeEntry, said: Said, offset: number): Buffer {
  const { name, flags, method, crc, length, size, extra } = said;
  const record = Buffer.alloc(46);
  record.writeUInt32LE(signatures.record, 0);
  record[4] = 20;
  record[5] = entry.system ?? 3;
  record.writeUInt16LE(20, 6);
  record.writeUInt16LE(flags, 8);
  record.writeUInt16LE(method, 10);
  record.writeUInt16LE(entry.dosTime ?? 0, 12);
  record.writeUInt16LE(entry.dosDate ?? someDate, 14);
  for (const [at, value] of [
    [16, crc],
    [20, length],
    [24, size],
    [42, offset],
  ] as const)
    record.writeUInt32LE(value, at);
  record.writeUInt16LE(name.length, 28);
  record.writeUInt16LE(extra.length, 30);
  record.writeUInt16LE(entry.record?.disk ?? 0, 34);
  record.writeUInt32LE((entry.mode ?? 0) * 0x10000 + (entry.attributes ?? 0), 38);
  return Buffer.concat([record, name, extra]);
}

function endOf(count: number, directory: Buffer, offset: number, given: MadeEnd): Buffer {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(signatures.end, 0);
  end.writeUInt16LE(given.disk ?? 0, 4);
  end.writeUInt16LE((given.count ?? count) & 0xffff, 8);
  end.writeUInt16LE((given.count ?? count) & 0xffff, 10);
  end.writeUInt32LE(given.size ?? directory.length, 12);
  end.writeUInt32LE(given.offset ?? offset, 16);
  end.writeUInt16LE(given.comment?.length ?? 0, 20);
  return Buffer.concat([end, given.comment ?? Buffer.alloc(0)]);
}

export function extra(id: number, value: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt16LE(id, 0);
  header.writeUInt16LE(value.length, 2);
  return Buffer.concat([header, value]);
}

/** Numbers of 64 bits. */
export function longs(...values: readonly (number | bigint)[]): Buffer {
  const bytes = Buffer.alloc(8 * values.length);
  for (const [index, value] of values.entries()) bytes.writeBigUInt64LE(BigInt(value), 8 * index);
  return bytes;
}

/** Numbers of 32 bits. */
export function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32LE(value, 4 * index);
  return bytes;
}

/** Without threads: the jobs run in this one. */
const inflater = new RestoreWorkerPool(0);

export async function receiveZipOf(spool: Spool, bytes: Buffer, options: Partial<ReceiveZipOptions> = {}) {
  const { signal } = new AbortController();
  const terms = { spool, owner: "a", encoding: null, maxBytes: 2 ** 50, signal, inflater, onProgress: () => undefined };
  return receiveZip(inPieces(bytes), { ...terms, ...options });
}

/** What a backup would see of a zip, by path. */
export async function seenInZip(
  spool: Spool,
  bytes: Buffer,
  options: Partial<ReceiveZipOptions> = {},
): Promise<Record<string, Seen>> {
  const archive = await receiveZipOf(spool, bytes, options);
  try {
    return await seenIn(archive);
  } finally {
    await archive.remove();
  }
}

/** Checks that a zip is refused with this code, as the entry with this number and path, and that nothing of it is left. */
export function refusedBy(spool: Spool, folder: string) {
  return async (bytes: Buffer, code: string, entry: number | null, path?: string | null): Promise<void> => {
    await assert.rejects(receiveZipOf(spool, bytes), (error: InvalidArchiveError) => {
      assert.deepEqual([error.name, error.code, error.entry], ["InvalidArchiveError", code, entry]);
      if (path !== undefined) assert.equal(error.path && Buffer.from(error.path).toString("latin1"), path);
      return true;
    });
    assert.deepEqual(await readdir(folder), [], "nothing is left in the spool");
    assert.equal(spool.usedBytes, 0);
  };
}
