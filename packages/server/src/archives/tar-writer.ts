/**
 * Writes tar archives: the blocks before the content of each member, the padding after it, and the end mark.
 *
 * The layout follows from the members alone, so the length of an archive is known before its content is read, and the same
 * members always give the same bytes. Headers are ustar. A pax record is added only for what ustar cannot say: a long name
 * or one that is not ASCII, a size of 8 GiB or more, a time before 1970 or with a fraction of a second, a large owner
 * number. A short name that is not UTF-8 is written as it is; a long one is in a record with `hdrcharset=BINARY`.
 */

import { isUtf8 } from "node:buffer";
import { blockSize, fields } from "./tar-header.ts";

/** A change of the layout needs another number: bytes that a client has fetched in part must stay the same. */
export const tarLayoutVersion = 1;

export interface TarMember {
  readonly type: "file" | "directory" | "symbolic-link" | "hard-link";
  /** Of a snapshot: no slash at its end. */
  readonly path: Uint8Array;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly mtimeSeconds: number;
  readonly mtimeNanos: number;
  /** Bytes of content. 0 for all but files. */
  readonly size: number;
  /** Of a link. */
  readonly target: Uint8Array | null;
}

const typeFlags = { file: "0", "hard-link": "1", "symbolic-link": "2", directory: "5" } as const;
const paxType = "x";

/** What octal digits of the fields can say. */
const maxOwner = 0o7777777;
const maxOctalSize = 0o77777777777;
const permissionBits = 0o7777;

const nanosPerSecond = 1_000_000_000;
const nanosDigits = 9;
const nameBytes = fields.name[1];
const slash = Buffer.from("/");

/** Two blocks of zeros. */
export const tarEnd = Buffer.alloc(2 * blockSize);

/** The blocks of a member before its content. */
export function tarHeaderOf(member: TarMember): Buffer {
  const isDirectory = member.type === "directory";
  const name = isDirectory ? Buffer.concat([member.path, slash]) : Buffer.from(member.path);
  const target = Buffer.from(member.target ?? []);
  const records = recordsOf(member, name, target);
  const header = ustarHeader({ ...member, flag: typeFlags[member.type], name, target });
  if (records.length === 0) return header;
  const body = Buffer.concat(records);
  const pax = ustarHeader({
    ...{ flag: paxType, name: Buffer.from("pax"), target: Buffer.alloc(0), size: body.length },
    ...{ mode: 0o644, uid: 0, gid: 0, mtimeSeconds: 0, mtimeNanos: 0 },
  });
  return Buffer.concat([pax, body, tarPaddingOf(body.length), header]);
}

/** What fills the last block of a content. */
export function tarPaddingOf(size: number): Buffer {
  return padding.subarray(0, (blockSize - (size % blockSize)) % blockSize);
}

const padding = Buffer.alloc(blockSize);

/** The bytes of a member with its content. */
export function tarBytesOf(member: TarMember): number {
  return tarHeaderOf(member).length + member.size + tarPaddingOf(member.size).length;
}

/** The pax records that a member needs. */
function recordsOf(member: TarMember, name: Buffer, target: Buffer): Buffer[] {
  const texts = [
    ["path", name],
    ["linkpath", target],
  ] as const;
  const long = texts.filter(([, value]) => needsRecord(value));
  const records: Buffer[] = [];
  // The charset is of all texts of the header, so a short name that is not UTF-8 goes with a long one.
  const isBinary = long.length > 0 && texts.some(([, value]) => !isUtf8(value));
  if (isBinary) records.push(record("hdrcharset", Buffer.from("BINARY")));
  for (const [key, value] of isBinary ? texts.filter(([, text]) => text.length > 0) : long)
    records.push(record(key, value));
  if (member.size > maxOctalSize) records.push(record("size", Buffer.from(String(member.size))));
  if (needsMoment(member)) records.push(record("mtime", Buffer.from(momentText(member))));
  if (member.uid > maxOwner) records.push(record("uid", Buffer.from(String(member.uid))));
  if (member.gid > maxOwner) records.push(record("gid", Buffer.from(String(member.gid))));
  return records;
}

/** Long, or in UTF-8 and not ASCII. Other bytes have no encoding that a record could state. */
function needsRecord(text: Buffer): boolean {
  return text.length > nameBytes || (isUtf8(text) && text.some((byte) => byte >= 0x80));
}

function needsMoment({ mtimeSeconds, mtimeNanos }: TarMember): boolean {
  return mtimeSeconds < 0 || mtimeSeconds > maxOctalSize || mtimeNanos !== 0;
}

/** Seconds with a fraction. Nanoseconds count forward: 0.75 s after the second -6 is -5.25. */
function momentText({ mtimeSeconds, mtimeNanos }: TarMember): string {
  if (mtimeNanos === 0) return String(mtimeSeconds);
  const isBefore = mtimeSeconds < 0;
  const whole = isBefore ? -mtimeSeconds - 1 : mtimeSeconds;
  const nanos = isBefore ? nanosPerSecond - mtimeNanos : mtimeNanos;
  return `${isBefore ? "-" : ""}${whole}.${String(nanos).padStart(nanosDigits, "0")}`;
}

/** A record begins with its own length, whose digits count too. */
function record(key: string, value: Buffer): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`), value, Buffer.from("\n")]);
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

type UstarFields = Omit<TarMember, "type" | "path" | "target"> & {
  readonly flag: string;
  readonly name: Buffer;
  readonly target: Buffer;
};

/** A header block. What does not fit is cut or 0: then a record before it has the value. */
function ustarHeader(member: UstarFields): Buffer {
  const { flag, name, target, mode, uid, gid, size, mtimeSeconds } = member;
  const block = Buffer.alloc(blockSize);
  const octal = (field: keyof typeof fields, value: number, max: number) => {
    const [start, length] = fields[field];
    block.write(
      fitting(value, max)
        .toString(8)
        .padStart(length - 1, "0"),
      start,
      "latin1",
    );
  };
  name.copy(block, fields.name[0], 0, nameBytes);
  octal("mode", mode & permissionBits, permissionBits);
  octal("uid", uid, maxOwner);
  octal("gid", gid, maxOwner);
  octal("size", size, maxOctalSize);
  octal("mtime", mtimeSeconds, maxOctalSize);
  block.write(flag, fields.type[0], "latin1");
  target.copy(block, fields.linkName[0], 0, fields.linkName[1]);
  block.write("ustar\0" + "00", fields.magic[0], "latin1");
  return withChecksum(block);
}

function fitting(value: number, max: number): number {
  return value < 0 || value > max ? 0 : value;
}

/** The sum of all bytes; the field itself counts as spaces. */
function withChecksum(block: Buffer): Buffer {
  const [start, length] = fields.checksum;
  block.fill(" ", start, start + length);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(length - 2, "0")}\0 `, start, "latin1");
  return block;
}
