import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { after, test } from "node:test";
import type { Vault } from "@emanet/engine";
import { retentionTest } from "../retention/testing.ts";
import { pruneVault } from "../snapshots/removal.ts";
import { runTask } from "../snapshots/testing.ts";
import { listIn, objectIn } from "../testing/lists.ts";
import { jobsDone } from "../testing/sent-messages.ts";
import { keepUpVault } from "./jobs.ts";
import { scrubDays } from "./rules.ts";

const env = await retentionTest({ after });
const { accountId, vaultId, service } = env;
const day = 24 * 3_600_000;

function bytesOf(seed: number, length = 400_000): Buffer {
  return createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16)).update(Buffer.alloc(length));
}

async function opened(): Promise<Vault> {
  const { services } = service.running;
  assert.ok(services !== null);
  return services.vaults.open(accountId, vaultId);
}

/** What the vault counts as stored, and what its store has. */
async function stored() {
  const vault = await opened();
  let packs = 0;
  for await (const { size } of vault.store.list(vault.names.packs)) packs += size;
  return { counted: await env.storedBytes(), packs };
}

/** A day later, after the runs that the service makes itself. */
async function runNextDay(): Promise<void> {
  env.wait(day);
  await jobsDone(service, "upkeep.run_vault");
  await runTask(env, keepUpVault, { accountId, vaultId });
  await jobsDone(service, "snapshots.prune_vault");
}

interface Shown {
  readonly damaged_frames: number;
  readonly scrub_round_ended_at: string | null;
  readonly healed_at: string | null;
  readonly repacked_at: string | null;
}

const shown = async () => objectIn<Shown>(await env.call("GET", `/v1/vaults/${vaultId}`), "upkeep");

/** What a restore says cannot be read. */
async function damagedFiles(id: string): Promise<readonly string[]> {
  const json = { snapshot_id: id, target: { kind: "download", format: "tar" } };
  const made = await env.call("POST", "/v1/restore", json, await env.client());
  assert.equal(made.status, 202, made.body.toString());
  await jobsDone(service, "restores.prepare");
  const target = `/v1/restore/${String(made.json?.id)}`;
  assert.equal((await env.call("GET", target)).json?.status, "failed");
  const warnings = listIn<{ path: string; code: string }>(await env.call("GET", `${target}/warnings`), "data");
  return warnings.filter(({ code }) => code === "content_damaged").map(({ path }) => path);
}

test("a flipped bit is found within one round, shown, and healed by the next backup that has the content", async () => {
  const content = bytesOf(1);
  const id = await env.backUp("a", { f: content });
  const vault = await opened();
  let largest = { name: "", size: 0 };
  for await (const entry of vault.store.list(vault.names.packs)) if (entry.size > largest.size) largest = entry;
  const bad = Uint8Array.from(await vault.store.get(largest.name));
  bad[200_000] = (bad[200_000] ?? 0) ^ 1;
  await vault.store.put(largest.name, bad);
  // As if no run had come for a round: the next one reads every slice.
  const before = new Date(service.clock.now().getTime() - scrubDays * day);
  await env.rows("update emanet.vaults set scrubbed_at = $2 where id = $1", [vaultId, before]);
  await runNextDay();
  const found = await shown();
  assert.ok(found.damaged_frames > 0 && found.scrub_round_ended_at !== null, JSON.stringify(found));
  assert.deepEqual(await damagedFiles(id), ["f"], "the file is named");
  await env.backUp("a", { f: content, other: "1" });
  await runNextDay();
  const healed = await shown();
  assert.equal(healed.damaged_frames, 0);
  assert.ok(healed.healed_at !== null);
  assert.deepEqual((await env.call("GET", `/v1/snapshots/${id}/files/f`)).body, content, "the old snapshot too");
});

test("repack and prune: what is counted is what is stored, and every snapshot is whole", async () => {
  const keep: [string, Buffer][] = [];
  for (let night = 0; night < 4; night++) {
    const own = bytesOf(10 + night, 300_000);
    const id = await env.backUp("b", { own, shared: bytesOf(99, 300_000) });
    if (night % 2 === 0) keep.push([id, own]);
    else assert.equal((await env.call("DELETE", `/v1/snapshots/${id}`)).status, 204);
    env.wait(day);
  }
  env.wait(4 * day);
  await jobsDone(service, "snapshots.prune_vault");
  await runTask(env, pruneVault, { accountId, vaultId });
  await runNextDay();
  await runTask(env, pruneVault, { accountId, vaultId });
  const left = await stored();
  assert.equal(left.counted, left.packs);
  assert.notEqual((await shown()).repacked_at, null);
  for (const [id, own] of keep) assert.deepEqual((await env.call("GET", `/v1/snapshots/${id}/files/own`)).body, own);
});

test("a paused vault is left alone", async () => {
  const begun = () => env.rows("select upkeep_begun_at from emanet.vaults where id = $1", [vaultId]);
  const before = await begun();
  await env.rows("update emanet.vaults set upkeep_paused_at = now() where id = $1", [vaultId]);
  await runNextDay();
  assert.deepEqual(await begun(), before);
});
