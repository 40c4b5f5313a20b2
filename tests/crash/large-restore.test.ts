/**
 * 5 GB restored through two API processes and a worker on one PostgreSQL and one bucket. The worker is killed while it prepares the
 * restore, the API processes while they send it, in 40 random ranges; between them upkeep moves frames and deletes packs. The
 * unpacked archive is the tree. Long form only.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, open } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import { needs } from "../../packages/server/src/testing/needs.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { seededRandom } from "../../packages/server/src/testing/seeded-random.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { assertTree, fetchRange, type PlannedFile, randomRanges, upload } from "./testing/large-tree.ts";
import { findPrograms, ManyProcesses } from "./testing/many-processes.ts";

/** EMANET_LARGE_RESTORE_BYTES makes it smaller, to try it out. */
const totalBytes = Number(process.env.EMANET_LARGE_RESTORE_BYTES ?? "5000000000");
const random = seededRandom(Number(process.env.EMANET_KILL_SEED ?? "24"));
const ranges = 40;
/** Of these ranges the process that sends them is killed midway. */
const killedRanges = new Set([5, 11, 19, 30]);
const jobKills = 3;
/** Longer than the 72 hours for which a deleted snapshot is kept, and shorter than the week of a download. */
const removalSeconds = 74 * 3600;
/** A job over 5 GB, on a machine that does other things too. */
const patienceMs = 20 * 60_000;

const mixedFiles = 250;
const small = range(20_000, (at) => ({ name: `f/${at % 50}/${at}.xml`, bytes: at % 3_000, seed: at }));
const mixed = range(mixedFiles, (at) => ({ name: `m/${at}-a`, bytes: 1_200_000, seed: 200_000 + at }));
/** Between the mixed files in the packs. Only a snapshot that is deleted has them, so these packs are mostly dead later. */
const others = range(mixedFiles, (at) => ({ name: `m/${at}-b`, bytes: 2_000_000, seed: 300_000 + at }));
const large = range(5, (at) => ({ name: `dump-${at}.bak`, bytes: Math.floor(totalBytes / 5), seed: 100_000 + at }));
const kept = [...small, ...mixed, ...large];

function range(count: number, make: (at: number) => PlannedFile): readonly PlannedFile[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

async function eventually<T>(what: string, ask: () => Promise<T | null>): Promise<T> {
  for (const end = performance.now() + patienceMs; performance.now() < end; await delay(250)) {
    const found = await ask();
    if (found !== null) return found;
  }
  return assert.fail(`not in time: ${what}`);
}

test("5 GB in 40 random ranges from two processes that are killed, with repack and prune between, are the tree", async (t) => {
  if (scaled(0, 1) === 0) return t.skip("only in the long form");
  const tar = needs(t, "tar");
  const programs = await findPrograms(t);
  if (tar === undefined || programs === null) return;
  const cleanup = inReverse(t);
  const folder = await temporaryFolder(cleanup);
  const service = await ManyProcesses.open(cleanup, programs, random, { EMANET_SPOOL_GIB_PER_ACCOUNT: "20" });
  const places = ["api-0", "api-1"] as const;
  const since = performance.now();
  const say = (what: string) => t.diagnostic(`${Math.round((performance.now() - since) / 1000)} s: ${what}`);

  const interleaved = mixed.flatMap((file, at) => [file, others[at] ?? file]);
  const deleted = await upload(await service.direct("api-0"), "large", interleaved, await service.auth());
  const snapshot = await upload(await service.direct("api-1"), "large", kept, await service.auth());
  say(`${kept.length} files are stored`);
  const owner = await service.signIn("demo");
  const gone = await service.client.send("DELETE", `/v1/snapshots/${deleted}`, { headers: owner });
  assert.equal(gone.status, 204, gone.body.toString());

  const json = { snapshot_id: snapshot, target: { kind: "download", format: "tar" } };
  const accepted = await service.send("POST", "/v1/restore", { json });
  assert.equal(accepted.status, 202, accepted.body.toString());
  const { id } = JSON.parse(accepted.body.toString());
  for (let count = 0; count < jobKills; count++) {
    await delay(random.integer(4_000));
    await service.kill("worker");
    await service.ensureUp();
  }
  const restore = await eventually("the restore is completed", async () => {
    const read = JSON.parse((await service.send("GET", `/v1/restore/${id}`)).body.toString());
    assert.ok(["pending", "running", "completed"].includes(read.status), JSON.stringify(read.failure));
    return read.status === "completed" ? read : null;
  });
  assert.deepEqual([restore.files_restored, restore.bytes_restored], [restore.files_total, restore.bytes_total]);
  const size: number = restore.download.size_bytes;
  say(`${size} bytes are prepared, after ${jobKills} kills of the worker`);

  const archive = path.join(folder, "restored.tar");
  const file = await open(archive, "w");
  const target = `/v1/restore/${id}/download`;
  for (const [at, [start, end]] of randomRanges(size, ranges, random).entries()) {
    if (at === 13) say(`upkeep: ${await upkeep(service, restore.vault_id)}`);
    const [name, other] = at % 2 === 0 ? places : [places[1], places[0]];
    const killAt = killedRanges.has(at) ? (end - start) / 3 : Number.POSITIVE_INFINITY;
    let killed: Promise<void> | null = null;
    const download = { target, headers: await service.auth() };
    const reached = await fetchRange(await service.direct(name), download, [start, end], file, (bytes) => {
      if (bytes >= killAt) killed ??= service.kill(name);
    });
    await killed;
    if (!killedRanges.has(at)) assert.equal(reached, end);
    // The other process goes on with what is missing.
    if (reached < end) assert.equal(await fetchRange(await service.direct(other), download, [reached, end], file), end);
    await service.ensureUp();
  }
  await file.close();
  say("all ranges are there");

  const tree = path.join(folder, "tree");
  await mkdir(tree);
  execFileSync(tar, ["xf", archive, "-C", tree]);
  await assertTree(tree, kept);
  say("the unpacked archive is the tree");
  await service.stop();
});

/** The deleted snapshot is removed, its packs are pruned, what lives in them is written to others, and their packs are pruned. */
async function upkeep(service: ManyProcesses, vaultId: string): Promise<string> {
  const packs = async () => (await service.objectFiles()).filter((name) => name.includes("/packs/"));
  const before = await packs();
  await service.advance(removalSeconds);
  await eventually("the deleted snapshot is removed", async () => {
    const left = await service.rows("select from emanet.snapshots where state = 'deleted' and pruned_at is null");
    return left.length === 0 ? true : null;
  });
  const next = 25 * 3600;
  await service.advance(next);
  await eventually("the vault is repacked", async () => {
    const done = await service.rows(
      `select from emanet.vaults v where id = $1
         and repacked_at > (select max(removed_at) from emanet.snapshots s where s.vault_id = v.id)`,
      [vaultId],
    );
    return done.length > 0 ? true : null;
  });
  await eventually("the packs from before are gone", async () => {
    const open = await service.rows("select from emanet.jobs where task = 'snapshots.prune_vault'");
    return open.length === 0 ? true : null;
  });
  const now = new Set(await packs());
  const deleted = before.filter((name) => !now.has(name)).length;
  assert.ok(deleted > 0, "upkeep deletes packs");
  return `${deleted} of ${before.length} packs deleted, ${[...now].filter((name) => !before.includes(name)).length} written`;
}
