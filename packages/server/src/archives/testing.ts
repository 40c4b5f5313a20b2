/** For tests: archives made by programs or by hand, and what was received of them. */

import { createHash } from "node:crypto";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { receiveTar } from "./receive-tar.ts";
import type { ArchiveEvent, ReceivedArchive } from "./received-archive.ts";
import { Spool, type SpoolLimits } from "./spool.ts";
import { blockSize } from "./tar-header.ts";

const roomy: SpoolLimits = { totalBytes: 2 ** 40, ownerBytes: 2 ** 40 };

export async function testFolder(after: (work: () => Promise<void>) => void): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "emanet-archives-"));
  after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export async function testSpool(after: (work: () => Promise<void>) => void, limits = roomy) {
  const folder = await testFolder(after);
  return { folder, spool: await Spool.open(folder, limits) };
}

/** Pieces of the given sizes, one after the other, and then the rest. */
export async function* inPieces(bytes: Buffer, size = 16_384): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export async function receive(spool: Spool, bytes: Buffer, options: Partial<Parameters<typeof receiveTar>[1]> = {}) {
  const { signal } = new AbortController();
  return receiveTar(inPieces(bytes), { spool, owner: "a", encoding: null, maxBytes: 2 ** 50, signal, ...options });
}

/** Readable facts of an entry: content as a hash. */
export type Seen = Readonly<Record<string, string | number>>;

/** What a backup would see, by path. */
export async function seenIn(archive: ReceivedArchive): Promise<Record<string, Seen>> {
  const seen: Record<string, Seen> = {};
  const groups = new Map<string, number>();
  for await (const event of archive.walk()) {
    if (event.type === "leave") continue;
    const name = Buffer.from(event.path).toString("latin1");
    if (event.type === "warning") seen[`warning ${name}`] = { code: event.code };
    else seen[name] = { type: event.type, ...facts(event), ...(await contentOf(event, groups)) };
  }
  return seen;
}

function facts({ stat }: Exclude<ArchiveEvent, { type: "leave" | "warning" }>): Seen {
  const { mode, uid, gid, mtimeSeconds, mtimeNanos } = stat;
  return { mode: mode.toString(8), uid, gid, mtime: `${mtimeSeconds}.${String(mtimeNanos).padStart(9, "0")}` };
}

async function contentOf(event: ArchiveEvent, groups: Map<string, number>): Promise<Seen> {
  if (event.type === "link") return { target: Buffer.from(event.target).toString("latin1") };
  if (event.type !== "file") return {};
  const handle = await open(Buffer.from(event.content.path));
  try {
    const bytes = Buffer.alloc(event.size);
    const { bytesRead } =
      event.size === 0 ? { bytesRead: 0 } : await handle.read(bytes, 0, event.size, event.content.offset);
    const sha256 = createHash("sha256").update(bytes.subarray(0, bytesRead)).digest("hex").slice(0, 16);
    const group = event.linkGroup === undefined ? null : Buffer.from(event.linkGroup).toString("hex");
    if (group !== null && !groups.has(group)) groups.set(group, groups.size);
    return { size: bytesRead, sha256, ...(group !== null && { group: groups.get(group) ?? 0 }) };
  } finally {
    await handle.close();
  }
}

export interface HeaderFields {
  readonly name: string | Buffer;
  readonly type?: string;
  readonly size?: number | Buffer;
  readonly mode?: number;
  readonly uid?: number | Buffer;
  readonly mtime?: number | Buffer;
  readonly linkName?: string;
  readonly prefix?: string;
  readonly magic?: string;
}

/** A header block with a right checksum. */
export function header(given: HeaderFields): Buffer {
  const block = Buffer.alloc(blockSize);
  const put = (text: string | Buffer, at: number, length: number) => Buffer.from(text).copy(block, at, 0, length);
  const number = (value: number | Buffer, at: number, length: number) =>
    put(typeof value === "number" ? `${value.toString(8).padStart(length - 1, "0")}\0` : value, at, length);
  put(given.name, 0, 100);
  number(given.mode ?? 0o644, 100, 8);
  number(given.uid ?? 0, 108, 8);
  number(0, 116, 8);
  number(given.size ?? 0, 124, 12);
  number(given.mtime ?? 0, 136, 12);
  put(given.type ?? "0", 156, 1);
  put(given.linkName ?? "", 157, 100);
  put(given.magic ?? "ustar\u000000", 257, 8);
  put(given.prefix ?? "", 345, 155);
  return withChecksum(block);
}

export function withChecksum(block: Buffer): Buffer {
  block.fill(" ", 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

/** A header, its content and what fills the last block. */
export function member(fields: HeaderFields, content: string | Buffer = ""): Buffer {
  const bytes = Buffer.from(content);
  const padding = Buffer.alloc((blockSize - (bytes.length % blockSize)) % blockSize);
  return Buffer.concat([header({ size: bytes.length, ...fields }), bytes, padding]);
}

export function extendedHeader(records: Readonly<Record<string, string | Buffer>>, type = "x"): Buffer {
  const body = Object.entries(records).map(([key, value]) => record(key, Buffer.from(value)));
  return member({ name: "extended", type }, Buffer.concat(body));
}

export function record(key: string, value: Buffer): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`), value, Buffer.from("\n")]);
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

export const endMark = Buffer.alloc(2 * blockSize);

export function tar(...members: readonly Buffer[]): Buffer {
  return Buffer.concat([...members, endMark]);
}
