/** A tree of any size whose content is made while it is sent, and compared while it is read: it is never in memory or on a disk as a whole. */

import assert from "node:assert/strict";
import { createCipheriv, createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, readdir } from "node:fs/promises";
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import path from "node:path";
import { endMark, member } from "../../../packages/server/src/archives/testing.ts";

export interface PlannedFile {
  readonly name: string;
  readonly bytes: number;
  readonly seed: number;
}

/** An address, and what its clients trust. */
export interface Place {
  readonly url: string;
  readonly ca: string | Buffer;
}

type Headers = Readonly<Record<string, string>>;

const pieceBytes = 1024 * 1024;

/** The content of a file, the same at every call. Half of it compresses. */
function* contentOf({ bytes, seed }: PlannedFile): Generator<Buffer> {
  const key = Buffer.alloc(16);
  key.writeUInt32LE(seed);
  const cipher = createCipheriv("aes-128-ctr", key, Buffer.alloc(16));
  for (let left = bytes; left > 0; left -= pieceBytes) {
    const made = cipher.update(Buffer.alloc(Math.min(left, pieceBytes)));
    yield made.fill(seed & 0xff, made.length >> 1);
  }
}

function* tarOfPlanned(planned: readonly PlannedFile[]): Generator<Buffer> {
  for (const file of planned) {
    const header = member({ name: file.name, size: file.bytes, mtime: 1_700_000_000 }, "");
    yield header.subarray(0, 512);
    yield* contentOf(file);
    yield Buffer.alloc((512 - (file.bytes % 512)) % 512);
  }
  yield endMark;
}

/** Backs the files up, and returns the id of the snapshot. */
export async function upload(
  { url, ca }: Place,
  source: string,
  planned: readonly PlannedFile[],
  headers: Headers,
): Promise<string> {
  const outgoing = clientOf(url).request(`${url}/v1/snapshots?source=${source}`, {
    ...{ method: "POST", ca, headers: { ...headers, "content-type": "application/x-tar" } },
  });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.on("response", resolve);
    outgoing.on("error", reject);
  });
  for (const piece of tarOfPlanned(planned))
    if (!outgoing.write(piece)) await new Promise((resolve) => outgoing.once("drain", resolve));
  outgoing.end();
  const response = await answered;
  const body = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>)).toString();
  assert.equal(response.statusCode, 201, body);
  return JSON.parse(body).id;
}

/** Writes a range of an archive to its place in a file. Returns where the answer ended: a server that was killed cuts it. */
export async function fetchRange(
  { url, ca }: Place,
  { target, headers }: { readonly target: string; readonly headers: Headers },
  [start, end]: readonly [number, number],
  file: FileHandle,
  onChunk: (bytes: number) => void = () => undefined,
): Promise<number> {
  const range = `bytes=${start}-${end - 1}`;
  let at = start;
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { ca, headers: { ...headers, range }, agent: false } as const;
      clientOf(url).get(`${url}${target}`, options, resolve).on("error", reject);
    });
    assert.equal(response.statusCode, 206);
    for await (const chunk of response as AsyncIterable<Buffer>) {
      await file.write(chunk, 0, chunk.length, at);
      at += chunk.length;
      onChunk(at - start);
    }
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
  }
  return at;
}

function clientOf(url: string): typeof https | typeof http {
  return url.startsWith("https:") ? https : http;
}

/** Cuts the bytes into so many random ranges, in random order. */
export function randomRanges(size: number, count: number, random: { integer(below: number): number }) {
  const cuts = Array.from({ length: count - 1 }, () => 1 + random.integer(size - 1)).sort((a, b) => a - b);
  const starts = [0, ...cuts];
  const all = starts.map((start, at) => [start, starts[at + 1] ?? size] as const).filter(([a, b]) => a < b);
  for (let at = all.length - 1; at > 0; at--) {
    const other = random.integer(at + 1);
    [all[at], all[other]] = [all[other] ?? [0, 0], all[at] ?? [0, 0]];
  }
  return all;
}

/** Asserts that a folder has these files and no others, with the planned bytes. */
export async function assertTree(folder: string, planned: readonly PlannedFile[]): Promise<void> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  assert.equal(names.filter((entry) => entry.isFile()).length, planned.length);
  for (const one of planned)
    assert.equal(await hashOf(createReadStream(path.join(folder, one.name))), await hashOf(contentOf(one)), one.name);
}

async function hashOf(chunks: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of chunks) hash.update(chunk);
  return hash.digest("hex");
}
