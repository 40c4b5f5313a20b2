/**
 * Kills the real service while files of a snapshot are sent, in parts too, and while the snapshot is completed. The client goes on
 * where the service says it is. No byte that was acknowledged is sent again, none is lost, and in the end nothing is left over.
 *
 * `npm run test:heavy` kills 60 times. EMANET_KILL_SEED chooses other moments.
 */

import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import type { TestAnswer } from "../../packages/server/src/testing/https.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { seededRandom } from "../../packages/server/src/testing/seeded-random.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { findLeftovers, nothingLeft } from "./testing/leftovers.ts";
import { until, World } from "./testing/world.ts";

const random = seededRandom(Number(process.env.EMANET_KILL_SEED ?? "23"));
const rounds = scaled(1, 30);
const smallFiles = scaled(12, 40);
/** More than a stripe of 64 MiB in heavy runs: then a killed PATCH keeps its first stripe. */
const largeBytes = scaled(3_000_000, 70 * 1024 * 1024);

function noise(bytes: number, seed: number): Buffer {
  const key = Buffer.alloc(16);
  key.writeUInt32LE(seed);
  return createCipheriv("aes-128-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(bytes));
}

/** A snapshot that a client sends, and what it was told. */
class Sender {
  readonly #world: World;
  readonly #id: string;
  readonly files = new Map<string, Buffer>();
  readonly acknowledged = new Set<string>();
  /** Bytes of the large file that a 204 or a HEAD has named. */
  offset = 0;

  constructor(world: World, id: string, round: number) {
    this.#world = world;
    this.#id = id;
    for (let i = 0; i < smallFiles; i++)
      this.files.set(`klasor-${i % 3}/dosya-${i}`, noise(1 + random.integer(30_000), round * 1000 + i));
    this.files.set("large.bak", noise(largeBytes, round * 1000 + 999));
  }

  get #url(): string {
    return `/v1/snapshots/${this.#id}/files`;
  }

  /** Sends the small files that were not acknowledged. */
  async sendSmall(): Promise<void> {
    const waiting = [...this.files].filter(([path]) => path !== "large.bak" && !this.acknowledged.has(path));
    const next = waiting.values();
    const worker = async () => {
      for (const [path, body] of next) {
        const answer = await this.#world.send("PUT", `${this.#url}/${path}`, { body }).catch(() => null);
        if (answer === null) return;
        assert.ok([200, 201].includes(answer.status), answer.body.toString());
        this.acknowledged.add(path);
      }
    };
    await Promise.all([worker(), worker(), worker()]);
  }

  async beginLarge(): Promise<void> {
    const headers = { "upload-length": String(largeBytes) };
    const answer = await this.#world.send("POST", `${this.#url}/large.bak`, { headers });
    assert.equal(answer.status, 201, answer.body.toString());
  }

  /** Sends the rest of the large file from the offset that the service names. Less than was acknowledged is a loss. */
  async sendLarge(partBytes: number): Promise<void> {
    const body = this.files.get("large.bak") ?? assert.fail("no file");
    const head = await this.#world.send("HEAD", `${this.#url}/large.bak`).catch(() => null);
    if (head === null) return;
    const from = Number(head.headers["upload-offset"]);
    assert.ok(from >= this.offset, `${from} of ${this.offset} acknowledged bytes`);
    this.offset = from;
    while (this.offset < body.length) {
      const headers = { "upload-offset": String(this.offset), "content-type": "application/offset+octet-stream" };
      const part = body.subarray(this.offset, this.offset + partBytes);
      const call = { body: part, headers };
      const answer = await this.#world.send("PATCH", `${this.#url}/large.bak`, call).catch(() => null);
      if (answer === null) return;
      assert.equal(answer.status, 204, answer.body.toString());
      this.offset = Number(answer.headers["upload-offset"]);
    }
  }

  complete(): Promise<TestAnswer | null> {
    return this.#world.send("POST", `/v1/snapshots/${this.#id}/complete`).catch(() => null);
  }

  async assertWhole(): Promise<void> {
    for (const [path, body] of this.files) {
      const answer = await this.#world.send("GET", `${this.#url}/${path}`);
      assert.ok(answer.body.equals(body), `${path}: ${answer.status}, ${answer.body.length} bytes`);
    }
  }
}

/** Kills the service some time after the work has begun, and starts it again. */
async function killDuring(world: World, longestMs: number, work: Promise<unknown>): Promise<void> {
  await delay(random.integer(longestMs));
  world.main.signal("SIGKILL");
  await world.main.ended();
  await work;
  await world.ensureUp();
}

async function round(world: World, number: number): Promise<Sender> {
  const json = { source: `kaynak-${number % 3}` };
  const made = await world.send("POST", "/v1/snapshots", { json });
  assert.equal(made.status, 201, made.body.toString());
  const sender = new Sender(world, JSON.parse(made.body.toString()).id, number);
  await sender.beginLarge();
  await killDuring(world, scaled(400, 1500), Promise.all([sender.sendSmall(), sender.sendLarge(1_000_000)]));
  await sender.sendSmall();
  await sender.sendLarge(largeBytes);
  await killDuring(world, scaled(60, 150), sender.complete());
  // The process that had the completion counts as dead after a minute, by the time of the database.
  await world.rows(
    "update emanet.snapshots set alive_at = alive_at - interval '61 seconds' where closed_at is not null",
  );
  const done = await until("the snapshot is completed", async () => {
    const answer = await sender.complete();
    return answer?.status === 200 ? answer : null;
  });
  assert.equal(JSON.parse(done.body.toString()).file_count, smallFiles + 1);
  return sender;
}

test(`${2 * rounds} kills while files are sent and completed: nothing acknowledged is lost, nothing is left over`, async (t) => {
  const cleanup = inReverse(t);
  const world = await World.open(cleanup, await temporaryFolder(cleanup));
  const senders: Sender[] = [];
  for (let number = 0; number < rounds; number++) senders.push(await round(world, number));
  for (const sender of senders) await sender.assertWhole();
  await world.ageTemporaryFiles(8 * 24 * 3600);
  // Leases end, and what killed processes stored and never registered is removed.
  await world.advance(9 * 24 * 3600);
  const quiet = async () => {
    const rows = await world.rows<{ count: number }>(
      `select (select count(*) from emanet.snapshot_files) + (select count(*) from emanet.snapshot_file_parts)
         + (select count(*) from emanet.file_uploads) + (select count(*) from emanet.file_sessions) as count`,
    );
    return { ...(await findLeftovers(world)), fileRows: Number(rows[0]?.count) };
  };
  const expected = { ...nothingLeft, fileRows: 0 };
  await until("nothing is left over", async () => (isDeepStrictEqual(await quiet(), expected) ? true : null)).catch(
    () => undefined,
  );
  assert.deepEqual(await quiet(), expected);
  await world.stop();
});
