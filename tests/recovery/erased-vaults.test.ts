// own process: the S3 client reads its credentials from the environment
/** Erased vaults: a rebuild does not bring them back, whenever the process ended; and in a bucket they are gone as from files. */

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { describe, test } from "node:test";
import { rebuildIndexOf } from "../../packages/server/src/commands.ts";
import { readConfig } from "../../packages/server/src/config.ts";
import { eraseVault } from "../../packages/server/src/erasures/jobs.ts";
import { type ErasureTest, endsAfter, erasureTest } from "../../packages/server/src/erasures/testing.ts";
import { runTask } from "../../packages/server/src/snapshots/testing.ts";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import { type TestDatabase, testDatabase } from "../../packages/server/src/testing/database.ts";
import { storedRows } from "../../packages/server/src/testing/rows.ts";
import { startTestService } from "../../packages/server/src/testing/running.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { findVersitygw, startVersitygw } from "../../packages/storage/src/testing/versitygw.ts";

interface Outcome {
  readonly whole: boolean;
  readonly unknown_vaults: readonly string[];
  readonly vaults: readonly { readonly vault_id: string }[];
}

async function rebuild(dataDir: string, { target }: TestDatabase): Promise<Outcome> {
  const config = readConfig({
    EMANET_PROFILE: "sandbox",
    EMANET_DATA_DIR: dataDir,
    EMANET_LOG_LEVEL: "silent",
    EMANET_DATABASE_URL: `postgres://${target.user}@localhost:${target.port}/${target.database}?host=${encodeURIComponent(target.host)}`,
  });
  return JSON.parse((await rebuildIndexOf(config, { json: true, say: () => undefined })).text) as Outcome;
}

/** A vault that is deleted, ready to be erased, and a snapshot of another one. */
async function prepared(env: ErasureTest) {
  const vaultId = await env.newVault("Eski");
  for (const n of [1, 2]) await env.backUpInto(vaultId, "defter", { f: `${n}`.repeat(1000) });
  const kept = await env.backUpInto(env.defaultVault, "defter", { f: "kalan" });
  await env.deleteVault(vaultId);
  return { vaultId, kept };
}

describe("after rebuild-index an erased vault stays erased, if the process ended", () => {
  const whens: readonly (readonly [string, number | null])[] = [
    ["before the first key was destroyed", 0],
    ["between the two key objects", 1],
    ["after the keys, with packs left", 5],
    ["after the proof", null],
  ];
  for (const [when, deletions] of whens)
    test(when, async (t) => {
      // Two services use the folder; both end before it is removed.
      const cleanup = inReverse(t);
      const env = await erasureTest(cleanup);
      const { vaultId, kept } = await prepared(env);
      if (deletions === null) await env.erase(vaultId);
      else await assert.rejects(env.eraseWith(endsAfter(env.store, deletions), vaultId), /ends here/);
      const { dataDir, clock } = env.service;
      await env.service.running.stop();
      const database = await testDatabase(cleanup);
      const outcome = await rebuild(dataDir, database);
      assert.deepEqual([outcome.whole, outcome.unknown_vaults], [true, []]);
      assert.ok(!outcome.vaults.some(({ vault_id: id }) => id === vaultId));
      const service = await startTestService(cleanup, { database, dataDir, clock });
      const { auth: headers } = await tokenFor(service, { accountId: env.accountId, role: "owner" });
      const get = (at: string) => service.send("GET", at, { headers });
      assert.equal((await get(`/v1/vaults/${vaultId}`)).status, 404);
      assert.equal((await get(`/v1/snapshots/${kept}/files/f`)).body.toString(), "kalan");
      await runTask({ service }, eraseVault, { accountId: env.accountId, vaultId });
      assert.deepEqual(await env.objects(vaultId), []);
      const query = "select state, proof is not null as proved from emanet.erasures where vault_id = $1";
      assert.deepEqual(await storedRows(database, query, [vaultId]), [{ state: "erased", proved: true }]);
    });
});

test("in a bucket too: a killed erasure is ended by the next run, and nothing of the vault is left", async (t) => {
  const program = await findVersitygw();
  if (program === null) return t.skip("versitygw is not installed: run tools/system-packages.sh");
  // The service ends before its bucket does: a job that is running would wait for it.
  const cleanup = inReverse(t);
  const folder = await temporaryFolder(cleanup);
  await mkdir(path.join(folder, "bucket"));
  const server = await startVersitygw(program, folder);
  cleanup.after(() => server.kill());
  process.env.AWS_ACCESS_KEY_ID = server.credentials.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = server.credentials.secretAccessKey;
  const place = `s3://bucket/emanet?endpoint=${encodeURIComponent(server.endpoint)}`;
  const env = await erasureTest(cleanup, { EMANET_STORAGE: place });
  const { vaultId, kept } = await prepared(env);
  await assert.rejects(env.eraseWith(endsAfter(env.store, 1), vaultId), /ends here/);
  await env.erase(vaultId);
  assert.deepEqual(await env.objects(vaultId), []);
  assert.equal((await env.erasure(vaultId))?.state, "erased");
  assert.equal((await env.call("GET", `/v1/snapshots/${kept}/files/f`)).body.toString(), "kalan");
});
