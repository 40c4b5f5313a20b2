import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { readdir, rename } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { applyRetention } from "../retention/apply.ts";
import { dayMs, hourMs, retentionTest } from "../retention/testing.ts";
import { verifySnapshot } from "../snapshots/jobs.ts";
import { pruneVault } from "../snapshots/removal.ts";
import { runTask, tarOf } from "../snapshots/testing.ts";
import { objectIn } from "../testing/lists.ts";
import { jobsDone } from "../testing/sent-messages.ts";
import { keepUpVault } from "./jobs.ts";
import { scrubDays } from "./rules.ts";

const env = await retentionTest({ after });
const { accountId, vaultId, service } = env;
const objects = path.join(service.dataDir, "objects");

function bytesOf(seed: number): Buffer {
  return createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16)).update(Buffer.alloc(300_000));
}

/** As if no run had come for a round: the next one reads every slice. */
async function scrubIsDue(): Promise<void> {
  const before = new Date(service.clock.now().getTime() - scrubDays * dayMs);
  await env.rows("update emanet.vaults set scrubbed_at = $2, upkeep_begun_at = null where id = $1", [vaultId, before]);
}

/** Everything that reads or removes; what it refuses is tried again by the service. */
async function runAll(snapshotId: string): Promise<readonly boolean[]> {
  await scrubIsDue();
  const isDone: boolean[] = [];
  for (const run of [
    () => runTask(env, applyRetention, { accountId, vaultId }),
    () => runTask(env, pruneVault, { accountId, vaultId }),
    () => runTask(env, keepUpVault, { accountId, vaultId }),
    () => runTask(env, verifySnapshot, { accountId, vaultId, snapshotId }),
  ])
    isDone.push(
      await run().then(
        () => true,
        () => false,
      ),
    );
  return isDone;
}

const filesOf = async (id: string) => (await env.call("GET", `/v1/snapshots/${id}/files/f`)).body;

test("a disk that was away for an hour and is back harms nothing", async () => {
  const [first, second] = [await env.backUp("a", { f: bytesOf(1) }), await env.backUp("a", { f: bytesOf(2) })];
  const gone = await env.backUp("a", { f: bytesOf(3) });
  assert.equal((await env.call("DELETE", `/v1/snapshots/${gone}`)).status, 204);
  env.wait(4 * dayMs);
  await jobsDone(service, "upkeep.run_vault");

  await rename(objects, `${objects}.away`);
  for (let part = 0; part < 3; part++) {
    await runAll(first);
    const headers = { ...(await env.client()), "content-type": "application/x-tar" };
    const target = `/v1/snapshots?source=a&vault_id=${vaultId}`;
    const refused = await service.send("POST", target, { body: tarOf({ f: bytesOf(4) }), headers });
    assert.equal(refused.status, 503, "nothing is acknowledged that has no place");
    assert.ok((await env.call("GET", `/v1/snapshots/${first}/files/f`).catch(() => ({ status: 503 }))).status >= 500);
    env.wait(hourMs / 3);
  }
  assert.deepEqual(await readdir(objects).catch(() => []), [], "nothing is written beside the disk");
  await rename(`${objects}.away`, objects).catch(async () => assert.fail("the folder of the store was made again"));

  // What was refused meanwhile is tried again an hour later at most.
  env.wait(dayMs);
  const next = await env.backUp("a", { f: bytesOf(5) });
  await jobsDone(service, "upkeep.run_vault", "snapshots.prune_vault");
  assert.deepEqual(await runAll(first), [true, true, true, true]);
  for (const [id, seed] of [
    [first, 1],
    [second, 2],
    [next, 5],
  ] as const)
    assert.deepEqual(await filesOf(id), bytesOf(seed));
  const vault = await env.call("GET", `/v1/vaults/${vaultId}`);
  const upkeep = objectIn<{ damaged_frames: number; scrub_findings: number }>(vault, "upkeep");
  assert.deepEqual([upkeep.damaged_frames, upkeep.scrub_findings], [0, 0], "no mark is left");
  assert.equal(await env.status(gone), 404);
  const verified = await env.call("GET", `/v1/snapshots/${first}`);
  assert.notEqual(verified.json?.verified_at, null);
});
