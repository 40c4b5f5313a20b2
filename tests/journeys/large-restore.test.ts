/**
 * A restore is downloaded in 40 random ranges, in any order, from two services that share database and store; between them the vault is
 * repacked and pruned. What is unpacked is what was backed up.
 *
 * `npm run test:heavy` does this with 5 GB.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createCipheriv, createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import path from "node:path";
import { after, test } from "node:test";
import { prune, repack } from "@emanet/engine";
import { endMark, member } from "../../packages/server/src/archives/testing.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { needs } from "../../packages/server/src/testing/needs.ts";
import { startTestService, type TestService } from "../../packages/server/src/testing/running.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { seededRandom } from "../../packages/server/src/testing/seeded-random.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";

const random = seededRandom(24);
const ranges = 40;
const largeFiles = scaled(3, 5);
const largeBytes = scaled(1_000_000, 1_000_000_000);
const smallFiles = scaled(300, 20_000);

const settings = {
  EMANET_STORAGE: `file:${await temporaryFolder({ after })}`,
  EMANET_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
  EMANET_PUBLIC_URL: "https://emanet.example",
  EMANET_SPOOL_GIB_PER_ACCOUNT: "20",
};
const first = await startTestService({ after }, { settings });
const { database, clock } = first;
const second = await startTestService({ after }, { settings, database, clock });
const folder = await temporaryFolder({ after });

interface PlannedFile {
  readonly name: string;
  readonly bytes: number;
  readonly seed: number;
}

const planned: readonly PlannedFile[] = [
  ...Array.from({ length: smallFiles }, (_, at) => ({ name: `f/${at % 50}/${at}.xml`, bytes: at % 3_000, seed: at })),
  ...Array.from({ length: largeFiles }, (_, at) => ({ name: `dump-${at}.bak`, bytes: largeBytes, seed: 100_000 + at })),
];

/** The content of a file, the same at every call. Half of it compresses. */
function* contentOf({ bytes, seed }: PlannedFile): Generator<Buffer> {
  const key = Buffer.alloc(16);
  key.writeUInt32LE(seed);
  const cipher = createCipheriv("aes-128-ctr", key, Buffer.alloc(16));
  const piece = 1024 * 1024;
  for (let left = bytes; left > 0; left -= piece) {
    const made = cipher.update(Buffer.alloc(Math.min(left, piece)));
    yield made.fill(seed & 0xff, made.length >> 1);
  }
}

function* tarOfPlanned(): Generator<Buffer> {
  for (const file of planned) {
    const header = member({ name: file.name, size: file.bytes, mtime: 1_700_000_000 }, "");
    yield header.subarray(0, 512);
    yield* contentOf(file);
    yield Buffer.alloc((512 - (file.bytes % 512)) % 512);
  }
  yield endMark;
}

async function upload({ url, ca }: TestService, headers: Readonly<Record<string, string>>): Promise<string> {
  const outgoing = https.request(`${url}/v1/snapshots?source=large`, {
    ...{ method: "POST", ca, headers: { ...headers, "content-type": "application/x-tar" } },
  });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.on("response", resolve);
    outgoing.on("error", reject);
  });
  for (const piece of tarOfPlanned())
    if (!outgoing.write(piece)) await new Promise((resolve) => outgoing.once("drain", resolve));
  outgoing.end();
  const response = await answered;
  const body = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>)).toString();
  assert.equal(response.statusCode, 201, body);
  return JSON.parse(body).id;
}

/** Writes a range of the archive to its place in a file. */
async function fetchRange(
  { url, ca }: TestService,
  { target, headers }: { readonly target: string; readonly headers: Readonly<Record<string, string>> },
  [start, end]: readonly [number, number],
  file: Awaited<ReturnType<typeof open>>,
): Promise<void> {
  const range = `bytes=${start}-${end - 1}`;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    https.get(`${url}${target}`, { ca, headers: { ...headers, range } }, resolve).on("error", reject);
  });
  assert.equal(response.statusCode, 206);
  let at = start;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    await file.write(chunk, 0, chunk.length, at);
    at += chunk.length;
  }
  assert.equal(at, end);
}

function shuffled<T>(all: readonly T[]): T[] {
  const list = [...all];
  for (let at = list.length - 1; at > 0; at--) {
    const other = random.integer(at + 1);
    [list[at], list[other]] = [list[other] as T, list[at] as T];
  }
  return list;
}

async function hashOf(chunks: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of chunks) hash.update(chunk);
  return hash.digest("hex");
}

test("40 random ranges from two services, with a repack and a prune between them, are the tree", async (context) => {
  const tar = needs(context, "tar");
  if (tar === undefined) return;
  const owner = await tokenFor(first);
  const auth = async () => (await tokenFor(first, { accountId: owner.accountId ?? "" })).auth;
  const snapshot = await upload(first, await auth());
  const json = { snapshot_id: snapshot, target: { kind: "download", format: "tar" } };
  const accepted = await first.send("POST", "/v1/restore", { json, headers: await auth() });
  assert.equal(accepted.status, 202, accepted.body.toString());
  const id = String(accepted.json?.id);
  let restore = accepted.json;
  while (restore?.status === "pending" || restore?.status === "running")
    restore = (await second.send("GET", `/v1/restore/${id}`, { headers: await auth() })).json;
  assert.equal(restore?.status, "completed");
  const { size_bytes: size } = restore.download as { size_bytes: number };

  const cuts = Array.from({ length: ranges - 1 }, () => 1 + random.integer(size - 1)).sort((a, b) => a - b);
  const starts = [0, ...cuts];
  const parts = starts.map((start, at) => [start, starts[at + 1] ?? size] as const).filter(([a, b]) => a < b);
  const archive = path.join(folder, "restored.tar");
  const file = await open(archive, "w");
  const vault = await first.running.services?.vaults.open(owner.accountId ?? "", String(restore.vault_id));
  assert.ok(vault !== undefined);
  for (const [at, part] of shuffled(parts).entries()) {
    if (at === 13) await repack(vault);
    if (at === 26) await prune(vault, {});
    const download = { target: `/v1/restore/${id}/download`, headers: await auth() };
    await fetchRange(at % 2 === 0 ? first : second, download, part, file);
  }
  await file.close();

  const target = path.join(folder, "tree");
  await mkdir(target);
  execFileSync(tar, ["xf", archive, "-C", target]);
  const names = await readdir(target, { recursive: true, withFileTypes: true });
  assert.equal(names.filter((entry) => entry.isFile()).length, planned.length);
  for (const one of planned)
    assert.equal(await hashOf(createReadStream(path.join(target, one.name))), await hashOf(contentOf(one)), one.name);
});
