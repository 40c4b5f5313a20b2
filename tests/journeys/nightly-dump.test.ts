/** A folder with a dump is backed up every night as one tar archive. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { after, test } from "node:test";
import { groupPages, PageGenerator, sqlServer } from "../../bench/ofis/content/pages.ts";
import { SeededRandom } from "../../bench/ofis/seeded-random.ts";
import { tarEnd, tarHeaderOf } from "../../packages/server/src/archives/index.ts";
import { member, type SnapshotTest, snapshotTest } from "../../packages/server/src/snapshots/testing.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";

const { pageBytes, headerBytes } = sqlServer;

/** 512 MB in the long form, 16 MB else. */
const pages = scaled(2048, 65_536);
const dumpBytes = pages * pageBytes;

/** Every 58th page: 1.72 %. Changed pages that are far from each other are the worst case. */
const changedEvery = 58;

/** Pages of an accounting program, or pages that nothing compresses behind their headers. */
const kinds = scaled(0, 1) === 1 ? (["rows", "incompressible"] as const) : (["incompressible"] as const);
type Kind = (typeof kinds)[number];

type WritePage = (page: Buffer, number: number, random: SeededRandom) => void;

function pageWriter(kind: Kind): WritePage {
  const generator = new PageGenerator(sqlServer, new SeededRandom(41, "tables"));
  if (kind === "rows") return (page, number, random) => generator.fill(page, number, random);
  return (page, number, random) => {
    sqlServer.header(page, number, Math.trunc(number / groupPages) % 8);
    random.bytes(pageBytes - headerBytes).copy(page, headerBytes);
  };
}

/** The dump in pieces. In the second night every 58th page is another one. */
function* dump(kind: Kind, night: 1 | 2): Generator<Buffer> {
  const write = pageWriter(kind);
  for (let first = 0; first < pages; first += groupPages) {
    const group = Buffer.alloc(groupPages * pageBytes);
    const random = new SeededRandom(41, "group", first);
    for (let number = first; number < first + groupPages; number++) {
      const page = group.subarray((number - first) * pageBytes, (number - first + 1) * pageBytes);
      write(page, number, random);
      if (night === 2 && number % changedEvery === 1) write(page, number, new SeededRandom(7, "fresh", number));
    }
    yield group;
  }
}

/** An archive with a file before the dump, which grows: the dump begins at another place, at no multiple of its page size. */
function* archive(name: string, grown: number, content: Iterable<Buffer>): Generator<Buffer> {
  yield member({ name: "a.txt" }, "x".repeat(grown));
  const times = { mtimeSeconds: 1_794_787_200, mtimeNanos: 0 };
  const owner = { mode: 0o644, uid: 0, gid: 0, target: null };
  yield tarHeaderOf({ type: "file", path: Buffer.from(name), size: dumpBytes, ...times, ...owner });
  yield* content;
  yield tarEnd;
}

async function open(env: SnapshotTest, method: string, path: string, body: Iterable<Buffer>): Promise<IncomingMessage> {
  const headers = { ...env.auth, "content-type": "application/x-tar" };
  const request = https.request(`${env.service.url}${path}`, { method, headers, ca: env.service.ca, agent: false });
  const answered = once(request, "response") as Promise<[IncomingMessage]>;
  await pipeline(body, request);
  const [response] = await answered;
  return response;
}

async function upload(env: SnapshotTest, content: Iterable<Buffer>): Promise<{ id: string; stored_bytes: number }> {
  const response = await open(env, "POST", "/v1/snapshots?source=logo", content);
  const body = await text(response);
  assert.equal(response.statusCode, 201, body);
  return JSON.parse(body);
}

async function sha256Of(content: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of content) hash.update(chunk);
  return hash.digest("hex");
}

for (const kind of kinds)
  test(`the next night stores at most 2.5 % of a renamed dump of which 1.7 % of the pages were replaced (${kind})`, async (t) => {
    const env = await snapshotTest({ after });
    const first = await upload(env, archive("LOGODB_20261115.bak", 100, dump(kind, 1)));
    const second = await upload(env, archive("LOGODB_20261116.bak", 5_000, dump(kind, 2)));
    const share = (snapshot: { stored_bytes: number }) => snapshot.stored_bytes / dumpBytes;
    t.diagnostic(
      `${(share(first) * 100).toFixed(2)} %, then ${(share(second) * 100).toFixed(2)} % of ${dumpBytes} bytes`,
    );
    assert.ok(share(second) <= 0.025, `${(share(second) * 100).toFixed(2)} % of ${dumpBytes} bytes`);
    const file = await open(env, "GET", `/v1/snapshots/${second.id}/files/LOGODB_20261116.bak`, []);
    assert.equal(await sha256Of(file), await sha256Of(dump(kind, 2)));
  });
