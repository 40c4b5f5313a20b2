/** One file of a gigabyte, sent in one call to a service with a small heap: memory does not grow with what is sent. Long form only. */

import assert from "node:assert/strict";
import { createCipheriv, createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import { test } from "node:test";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { World } from "./testing/world.ts";

const mebibyte = 1024 * 1024;
const pieces = 1024;
/** The contract's, for a process without its database. */
const mostResidentMib = 700;

/** A gigabyte that does not compress. */
function* content(): Generator<Buffer> {
  const cipher = createCipheriv("aes-128-ctr", Buffer.alloc(16, 3), Buffer.alloc(16));
  for (let at = 0; at < pieces; at++) yield cipher.update(Buffer.alloc(mebibyte));
}

async function request(world: World, method: string, target: string, body: Iterable<Buffer>) {
  const { url, ca } = world.client;
  const headers = { ...(await world.auth()), "content-type": "application/octet-stream" };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = https.request(`${url}${target}`, { method, headers, ca, agent: false }, resolve);
  outgoing.on("error", reject);
  for (const piece of body) if (!outgoing.write(piece)) await new Promise((drained) => outgoing.once("drain", drained));
  outgoing.end();
  const response = await promise;
  const hash = createHash("sha256");
  let text = "";
  for await (const chunk of response) {
    hash.update(chunk as Buffer);
    if (method === "POST") text += chunk;
  }
  return { status: response.statusCode, text, digest: hash.digest("hex") };
}

/** The most memory that a process ever had, in MiB. */
async function mostResident(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

test("1 GiB with a heap of 128 MB is stored and read back, within the bound of memory", async (t) => {
  if (scaled(0, 1) === 0) return t.skip("only in the long form");
  const cleanup = inReverse(t);
  const world = await World.open(cleanup, await temporaryFolder(cleanup), ["--max-old-space-size=128"]);
  const before = performance.now();
  const sent = await request(world, "POST", "/v1/snapshots?source=buyuk&path=dosya.bin", content());
  assert.equal(sent.status, 201, sent.text);
  const sentMs = performance.now() - before;
  const { id } = JSON.parse(sent.text) as { id: string };
  const read = await request(world, "GET", `/v1/snapshots/${id}/files/dosya.bin`, []);
  const hash = createHash("sha256");
  for (const piece of content()) hash.update(piece);
  assert.equal(read.digest, hash.digest("hex"));
  const resident = await mostResident(world.main.pid);
  t.diagnostic(`sent in ${Math.round(sentMs / 1000)} s, at most ${Math.round(resident)} MiB`);
  assert.ok(resident < mostResidentMib, `${resident} MiB`);
  await world.stop();
});
