/**
 * Faults of uploads in one call. Full disks: the answer says so, nothing half is left, and uploads pass again when there is space,
 * without a restart. Slow clients: nobody else waits for them.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createCipheriv } from "node:crypto";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, describe, type TestContext, test } from "node:test";
import { ObjectStoreError } from "@emanet/engine/object-store";
import { Spool } from "../archives/index.ts";
import type { Services } from "../kernel/domain-services.ts";
import { inReverse } from "../testing/cleanup.ts";
import type { Cleanup } from "../testing/database.ts";
import { scaled } from "../testing/scale.ts";
import { jobsDone } from "../testing/sent-messages.ts";
import { temporaryFolder } from "../testing/temporary-folder.ts";
import { releaseUpload } from "./release-upload.ts";
import { runTask, type SnapshotJson, type SnapshotTest, snapshotTest, tarOf } from "./testing.ts";

/** Does not compress. */
function noise(bytes: number, seed: number): Buffer {
  return createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16)).update(Buffer.alloc(bytes));
}

/** What an upload may leave of itself: counted bytes, pins, spooled bytes, packs without a row. */
async function heldBy(env: SnapshotTest) {
  const { services } = env.service.running;
  assert.ok(services !== null);
  const [vault] = await env.rows<{ id: string; stored: number }>(
    "select id, stored_bytes::float8 as stored from emanet.vaults where account_id = $1",
    [env.accountId],
  );
  const { catalog, store, names } = await services.vaults.open(env.accountId, vault?.id ?? "");
  const known = new Map((await Array.fromAsync(catalog.allPacks())).map(({ pack, size }) => [pack, size]));
  const packs = (await Array.fromAsync(store.list(names.packs))).map(({ name }) => path.posix.basename(name));
  return {
    uncounted: (vault?.stored ?? 0) - [...known.values()].reduce((sum, size) => sum + size, 0),
    running: (await catalog.sessions()).running,
    spooled: services.snapshots.spool.usedBytes,
    strayPacks: packs.filter((pack) => !known.has(pack)),
  };
}

const nothing = { uncounted: 0, running: [], spooled: 0, strayPacks: [] };

/** Refused with 503, a failed snapshot with its reason, and nothing else. */
async function assertRefused(env: SnapshotTest, source: string, body: Buffer): Promise<void> {
  const headers = { "transfer-encoding": "chunked" };
  const answer = await env.upload(`source=${source}`, body, headers);
  assert.deepEqual([answer.status, answer.json?.code], [503, "storage_full"], answer.body.toString());
  assert.match(answer.headers["retry-after"] ?? "", /^\d+$/);
  const left = (await env.get(`/v1/snapshots/${answer.json?.snapshot_id}`)).json as SnapshotJson;
  const { code, retryable } = left.failure as { code: string; retryable: boolean };
  assert.deepEqual([left.status, code, retryable], ["failed", "storage_full", true]);
  const { vault_id: vaultId, id: snapshotId } = left;
  await runTask(env, releaseUpload, { accountId: env.accountId, vaultId: String(vaultId), snapshotId });
  assert.deepEqual(await heldBy(env), nothing);
}

async function assertAccepted(env: SnapshotTest, source: string, content: Buffer): Promise<void> {
  const answer = await env.upload(`source=${source}`, tarOf({ f: content }));
  assert.equal(answer.status, 201, answer.body.toString());
  const { body } = await env.get(`/v1/snapshots/${answer.json?.id}/files/f`);
  assert.ok(body.equals(content));
}

describe("a store or a spool that is full", async () => {
  const full = { packs: false, manifests: false };
  const scratch = await temporaryFolder({ after });
  const spool = await Spool.open(path.join(scratch, "spool"), { totalBytes: 600_000, ownerBytes: 2 ** 40 });
  const env = await snapshotTest({ after }, {}, { services: (real) => withFullStore(real, full, spool) });

  test("503 storage_full for a pack; accepted when there is space again", async () => {
    full.packs = true;
    await assertRefused(env, "a", tarOf({ f: noise(300_000, 1) }));
    full.packs = false;
    await assertAccepted(env, "a", noise(300_000, 1));
  });

  test("503 storage_full for the manifest, after the packs were stored", async () => {
    full.manifests = true;
    await assertRefused(env, "b", tarOf({ f: noise(300_000, 2) }));
    full.manifests = false;
    await assertAccepted(env, "b", noise(300_000, 2));
  });

  test("503 storage_full midway where the spool is full, and before the body where its size was announced", async () => {
    await assertRefused(env, "c", tarOf({ f: noise(700_000, 3) }));
    const announced = await env.upload("source=d", tarOf({ f: noise(700_000, 3) }));
    assert.deepEqual([announced.status, announced.json?.code], [503, "storage_full"], announced.body.toString());
    assert.equal(announced.json?.snapshot_id, undefined);
    await assertAccepted(env, "c", noise(300_000, 4));
  });

  test("a vault that an upload has filled is free again a minute later", async () => {
    const fill = "update emanet.vaults set quota_bytes = stored_bytes + 1000 where account_id = $1";
    const before = await env.rows(`${fill} returning stored_bytes::float8 as stored`, [env.accountId]);
    const answer = await env.upload("source=e", tarOf({ f: noise(300_000, 8) }));
    assert.deepEqual([answer.status, answer.json?.code], [409, "quota_exceeded"], answer.body.toString());
    assert.ok((await heldBy(env)).strayPacks.length > 0);
    env.service.clock.advance(61_000);
    await jobsDone(env.service, "snapshots.prune_vault");
    assert.deepEqual(await heldBy(env), nothing);
    const free = "update emanet.vaults set quota_bytes = null where account_id = $1";
    assert.deepEqual(await env.rows(`${free} returning stored_bytes::float8 as stored`, [env.accountId]), before);
  });

  test("many slow clients delay neither the API nor other uploads, and end by the rule of stalled bodies", async () => {
    const slow = Array.from({ length: scaled(20, 50) }, (_, at) =>
      env.openUpload(`source=slow-${at}`, { "content-length": "100000" }),
    );
    const body = tarOf({ f: noise(98_000, 7) });
    for (const open of slow) open.write(body.subarray(0, 600));
    const running = () => env.rows("select 1 from emanet.snapshots where state = 'running'");
    await env.until(async () => ((await running()).length === slow.length ? true : null));
    let sent = 600;
    const timer = setInterval(() => {
      for (const open of slow) open.write(body.subarray(sent, sent + 1));
      sent++;
    }, 2_000);
    for (let at = 0; at < 5; at++) await inTime(assertAccepted(env, "quick", noise(50_000, 50 + at)));
    for (let at = 0; at < 20; at++) await inTime(env.get("/v1/snapshots?limit=1"));
    const answers = slow.map(({ answer }) => answer.catch(() => null));
    if (scaled(0, 1) === 0) for (const open of slow) open.destroy();
    for (const answer of await Promise.all(answers)) assert.ok(answer === null || answer.status === 408);
    clearInterval(timer);
    await env.until(async () => ((await running()).length === 0 ? true : null));
    const failed = await env.rows<{ code: string }>(
      `select distinct s.failure_code as code from emanet.snapshots s join emanet.sources o on o.id = s.source_id
       where o.name like 'slow-%'`,
    );
    assert.deepEqual(failed, [{ code: "upload_interrupted" }]);
    await env.until(async () => ((await heldBy(env)).spooled === 0 ? true : null));
  });
});

/** Much longer than a request takes on a busy machine, much shorter than a slow client's. */
const quickMs = 5_000;

async function inTime<T>(work: Promise<T>): Promise<T> {
  const before = performance.now();
  const result = await work;
  const took = performance.now() - before;
  assert.ok(took < quickMs, `${took} ms`);
  return result;
}

/** Replaces the store by one that can be full, and the spool by a small one. */
function withFullStore(real: Services, full: { packs: boolean; manifests: boolean }, spool: Spool): Services {
  const open: Services["vaults"]["open"] = async (...of) => {
    const vault = await real.vaults.open(...of);
    const put: typeof vault.store.put = (name, ...more) => {
      const isFull = name.startsWith(vault.names.packs) ? full.packs : full.manifests;
      if (isFull) throw new ObjectStoreError("full", "no space");
      return vault.store.put(name, ...more);
    };
    const store = new Proxy(vault.store, {
      get: (target, name) => {
        if (name === "put") return put;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    return { ...vault, store };
  };
  return { ...real, vaults: { ...real.vaults, open }, snapshots: { ...real.snapshots, spool } };
}

/** A file system of that size; null, and the test is skipped, where nothing may be mounted. */
async function smallDisk(t: TestContext, cleanup: Cleanup, megabytes: number): Promise<string | null> {
  const folder = await temporaryFolder(cleanup);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder], { stdio: "ignore" });
  } catch {
    t.skip("no right to mount a small file system here");
    return null;
  }
  cleanup.after(async () => void execFileSync("umount", [folder], { stdio: "ignore" }));
  return folder;
}

/** Leaves less than a megabyte of a disk. */
async function fill(folder: string): Promise<string> {
  const file = path.join(folder, "filler");
  for (let bytes = 0, isFull = false; !isFull; bytes += 500_000)
    await writeFile(file, Buffer.alloc(500_000), { flag: "a" }).catch(() => {
      isFull = bytes > 0;
    });
  return file;
}

test("a disk that is really full, of the spool and of the store", async (t) => {
  const cleanup = inReverse(t);
  const spoolDisk = await smallDisk(t, cleanup, 8);
  if (spoolDisk === null) return;
  const storeDisk = await smallDisk(t, cleanup, 16);
  if (storeDisk === null) return;
  const store = path.join(storeDisk, "objects");
  await mkdir(store);
  const settings = { EMANET_SPOOL_DIR: path.join(spoolDisk, "spool"), EMANET_STORAGE: `file:${store}` };
  const env = await snapshotTest(cleanup, settings);
  await assertAccepted(env, "a", noise(200_000, 5));
  for (const disk of [spoolDisk, storeDisk]) {
    const filler = await fill(disk);
    await assertRefused(env, "a", tarOf({ f: noise(2_000_000, 6) }));
    await rm(filler);
    await assertAccepted(env, "a", noise(2_000_000, 6));
  }
  assert.deepEqual(await readdir(path.join(store, ".tmp")), []);
});
