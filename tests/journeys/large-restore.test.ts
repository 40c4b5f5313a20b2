/**
 * A restore is downloaded in 40 random ranges, in any order, from two services that share database and store; between them the vault is
 * repacked and pruned. What is unpacked is what was backed up. `tests/crash/large-restore.test.ts` does this with 5 GB, in processes that
 * are killed.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, open } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { prune, repack } from "@emanet/engine";
import { tokenFor } from "../../packages/server/src/testing/accounts.ts";
import { needs } from "../../packages/server/src/testing/needs.ts";
import { startTestService } from "../../packages/server/src/testing/running.ts";
import { seededRandom } from "../../packages/server/src/testing/seeded-random.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { assertTree, fetchRange, type PlannedFile, randomRanges, upload } from "../crash/testing/large-tree.ts";

const random = seededRandom(24);
const ranges = 40;

const settings = {
  EMANET_STORAGE: `file:${await temporaryFolder({ after })}`,
  EMANET_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
  EMANET_PUBLIC_URL: "https://emanet.example",
};
const first = await startTestService({ after }, { settings });
const { database, clock } = first;
const second = await startTestService({ after }, { settings, database, clock });
const folder = await temporaryFolder({ after });

const planned: readonly PlannedFile[] = [
  ...Array.from({ length: 300 }, (_, at) => ({ name: `f/${at % 50}/${at}.xml`, bytes: at % 3_000, seed: at })),
  ...Array.from({ length: 3 }, (_, at) => ({ name: `dump-${at}.bak`, bytes: 1_000_000, seed: 100_000 + at })),
];

test("40 random ranges from two services, with a repack and a prune between them, are the tree", async (context) => {
  const tar = needs(context, "tar");
  if (tar === undefined) return;
  const owner = await tokenFor(first);
  const auth = async () => (await tokenFor(first, { accountId: owner.accountId ?? "" })).auth;
  const snapshot = await upload(first, "large", planned, await auth());
  const json = { snapshot_id: snapshot, target: { kind: "download", format: "tar" } };
  const accepted = await first.send("POST", "/v1/restore", { json, headers: await auth() });
  assert.equal(accepted.status, 202, accepted.body.toString());
  const id = String(accepted.json?.id);
  let restore = accepted.json;
  while (restore?.status === "pending" || restore?.status === "running")
    restore = (await second.send("GET", `/v1/restore/${id}`, { headers: await auth() })).json;
  assert.equal(restore?.status, "completed");
  const { size_bytes: size } = restore.download as { size_bytes: number };

  const archive = path.join(folder, "restored.tar");
  const file = await open(archive, "w");
  const vault = await first.running.services?.vaults.open(owner.accountId ?? "", String(restore.vault_id));
  assert.ok(vault !== undefined);
  for (const [at, part] of randomRanges(size, ranges, random).entries()) {
    if (at === 13) await repack(vault);
    if (at === 26) await prune(vault, {});
    const download = { target: `/v1/restore/${id}/download`, headers: await auth() };
    assert.equal(await fetchRange(at % 2 === 0 ? first : second, download, part, file), part[1]);
  }
  await file.close();

  const target = path.join(folder, "tree");
  await mkdir(target);
  execFileSync(tar, ["xf", archive, "-C", target]);
  await assertTree(target, planned);
});
