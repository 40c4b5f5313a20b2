/**
 * Five attackers, a week each: with a backup client's token, with a manager's session, with the database alone, with the bucket alone, with a
 * clock two years ahead. Afterwards every good snapshot from before the attack is read byte for byte.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Vault } from "@emanet/engine";
import { checkErased, eraseVault } from "../../packages/server/src/erasures/jobs.ts";
import type { Clock } from "../../packages/server/src/kernel/clock.ts";
import { applyRetention } from "../../packages/server/src/retention/apply.ts";
import { dayMs, hourMs, type RetentionTest, retentionTest } from "../../packages/server/src/retention/testing.ts";
import { pruneVault } from "../../packages/server/src/snapshots/removal.ts";
import { runTask } from "../../packages/server/src/snapshots/testing.ts";
import { listIn } from "../../packages/server/src/testing/lists.ts";
import { jobsDone } from "../../packages/server/src/testing/sent-messages.ts";

const fileCount = 60;

/** The files of a night: most stay as they were. */
function nightly(night: number): Record<string, string> {
  const files = Array.from({ length: fileCount }, (_, i) => [`f${i}`, i === night ? `night ${night}` : `file ${i}`]);
  return Object.fromEntries(files);
}

interface Good {
  readonly id: string;
  readonly night: number;
}

interface Prey {
  readonly env: RetentionTest;
  readonly sourceId: string;
  readonly good: readonly Good[];
}

/** A vault with a policy that holds, and snapshots that it keeps: 40, 20 and 1 days old. */
async function prepare(): Promise<Prey> {
  const env = await retentionTest({ after });
  const good: Good[] = [];
  for (const [night, pause] of [20, 19, 1].entries()) {
    good.push({ id: await env.backUp("defter", nightly(night)), night });
    env.wait(pause * dayMs);
  }
  const [row] = await env.rows<{ id: string }>("select source_id as id from emanet.snapshots where id = $1", [
    good[0]?.id,
  ]);
  const sourceId = row?.id ?? "";
  assert.equal((await env.putPolicy(`/v1/sources/${sourceId}/retention`, { keep_last: 3 })).status, 202);
  env.wait(72 * hourMs);
  await env.apply();
  const shown = await env.call("GET", `/v1/sources/${sourceId}/retention`);
  assert.equal(shown.json?.keep_last, 3);
  return { env, sourceId, good };
}

/** Everything that removes something runs, once a day for a week. Whatever it refuses, it must not remove. */
async function pass({ env }: Prey, eachDay: (day: number) => Promise<unknown> = async () => undefined): Promise<void> {
  const { accountId, vaultId, service } = env;
  for (let day = 0; day < 7; day++) {
    await eachDay(day);
    env.wait(dayMs);
    await jobsDone(service, "retention.apply").catch(() => undefined);
    for (const task of [applyRetention, pruneVault, eraseVault])
      await runTask(env, task, { accountId, vaultId }).catch(() => undefined);
    await runTask(env, checkErased, {});
  }
}

async function assertAllRestore({ env, good }: Prey): Promise<void> {
  for (const { id, night } of good)
    for (const [name, content] of Object.entries(nightly(night)).filter((_, i) => i < 5 || i === night)) {
      const { status, body } = await env.call("GET", `/v1/snapshots/${id}/files/${name}`);
      assert.deepEqual([status, body.toString()], [200, content], `${night} ${name}`);
    }
}

async function opened({ accountId, vaultId, service }: RetentionTest): Promise<Vault> {
  const { services } = service.running;
  assert.ok(services !== null);
  return services.vaults.open(accountId, vaultId);
}

test("with a backup client's token: it deletes nothing, and its empty and encrypted snapshots push out nothing", async () => {
  const prey = await prepare();
  const { env, sourceId, good } = prey;
  const headers = await env.client();
  for (const [method, path, json] of [
    ...good.map(({ id }) => ["DELETE", `/v1/snapshots/${id}`] as const),
    ["PUT", `/v1/sources/${sourceId}/retention`, { keep_last: 1 }],
    ["PUT", `/v1/vaults/${env.vaultId}/retention`, { ceiling_days: 31 }],
    ["POST", `/v1/snapshots/${good[0]?.id}/accept`],
    ["DELETE", `/v1/sources/${sourceId}`],
    ["DELETE", `/v1/vaults/${env.vaultId}`],
    ["POST", "/v1/account/close"],
    ["POST", `/v1/vaults/${env.vaultId}/rotate-keys`],
    ["POST", `/v1/vaults/${env.vaultId}/recovery-kits`],
  ] as const) {
    const answer = await env.call(method, path, json, { ...headers, "if-match": "*" });
    assert.equal(answer.json?.code, "insufficient_scope", `${method} ${path}`);
  }
  await pass(prey, async (day) => {
    await env.backUp("defter", day % 2 === 0 ? { note: "ödeyin" } : { note: "ödeyin", more: `${day}` });
    await env.backUp("defter", { note: `${day}` });
  });
  await assertAllRestore(prey);
});

test("with a manager's session: an old one does nothing; with a fresh second factor owners have 72 hours", async () => {
  const prey = await prepare();
  const { env, sourceId, good } = prey;
  const stale = await env.as({ role: "manager", factorAgeMs: hourMs });
  for (const { id } of good)
    assert.equal((await env.call("DELETE", `/v1/snapshots/${id}`, undefined, stale)).json?.code, "step_up_required");
  const fresh = await env.as({ role: "manager" });
  for (const path of ["/v1/account/close", `/v1/vaults/${env.vaultId}/recovery-kits`])
    assert.equal((await env.call("POST", path, undefined, fresh)).json?.code, "insufficient_role", path);
  for (const { id } of good)
    assert.equal((await env.call("DELETE", `/v1/snapshots/${id}`, undefined, fresh)).status, 204);
  const policies = [`/v1/sources/${sourceId}/retention`, `/v1/vaults/${env.vaultId}/retention`];
  for (const path of policies)
    assert.equal((await env.putPolicy(path, { keep_last: 1, ceiling_days: 31 }, fresh)).status, 202);
  env.wait(71 * hourMs);
  const { accountId, vaultId } = env;
  for (const task of [applyRetention, pruneVault]) await runTask(env, task, { accountId, vaultId });
  for (const { id } of listIn<{ id: string }>(await env.call("GET", "/v1/pending-acts?state=waiting"), "data"))
    assert.equal((await env.call("POST", `/v1/pending-acts/${id}/cancel`)).status, 200);
  for (const { id } of good) assert.equal((await env.call("POST", `/v1/snapshots/${id}/undelete`)).status, 200);
  await pass(prey);
  await assertAllRestore(prey);
});

test("with the database alone: rows say deleted, failed, expired, old, released; nothing goes", async () => {
  const prey = await prepare();
  const { env, sourceId, good } = prey;
  const [first, second, third] = good.map(({ id }) => id);
  assert.equal((await env.call("PUT", `/v1/snapshots/${first}/hold`, { reason: "inceleme" })).status, 200);
  const long = new Date(env.service.clock.now().getTime() - 400 * dayMs);
  const forge = async () => {
    const set = (id: unknown, text: string) =>
      env.rows(`update emanet.snapshots set ${text} where id = $1`, [id, long]);
    await set(
      first,
      "legal_hold = false, hold_reason = null, state = 'deleted', deleted_state = 'completed', deleted_at = $2",
    );
    await set(second, "state = 'failed', failure_code = 'internal', active_at = $2");
    await set(third, "state = 'expired', expired_at = $2, removed_at = $2");
    await env.rows("update emanet.retention_policies set keep_last = 1 where source_id = $1", [sourceId]);
    await env.rows("update emanet.vaults set deleted_at = $2 where id = $1", [env.vaultId, long]);
    await env.rows("delete from emanet.erasures where vault_id = $1", [env.vaultId]);
    await env.rows(
      `insert into emanet.erasures (id, account_id, vault_id, cause, act_id, ordered_by, due_at, state, key_objects, objects, bytes, snapshots, created_at,
         keys_destroyed_at, erased_at, proof, checked_at)
       values (gen_random_uuid(), $1, $2, 'vault_deletion', gen_random_uuid(), gen_random_uuid(), $3, 'erased', 0, 0, 0, 0, $3, $3, $3, 'a.b.c', $3)`,
      [env.accountId, env.vaultId, long],
    );
    await env.rows(
      `insert into emanet.pending_acts (id, account_id, vault_id, kind, source_id, policy, state, created_by, created_at, due_at)
       values (gen_random_uuid(), $1, $2, 'policy_change', $3, '{"keep_last": 1}', 'waiting', gen_random_uuid(), $4, $4)`,
      [env.accountId, env.vaultId, sourceId, long],
    );
  };
  await pass(prey, forge);
  // A week later people put the rows back.
  await env.rows("update emanet.vaults set deleted_at = null where id = $1", [env.vaultId]);
  await env.rows(
    `update emanet.snapshots set state = 'completed', deleted_state = null, deleted_at = null, removed_at = null, failure_code = null
     where id = any ($1)`,
    [[first, second, third]],
  );
  await assertAllRestore(prey);
});

test("with the bucket alone: planted and replayed objects are refused, a lost record stops what deletes", async () => {
  const prey = await prepare();
  const { env, good } = prey;
  const vault = await opened(env);
  assert.equal((await env.call("PUT", `/v1/snapshots/${good[0]?.id}/hold`, { reason: "inceleme" })).status, 200);
  const { sequence } = (await vault.chain.read()).head;
  const records = await Promise.all([1, sequence].map((at) => vault.store.get(vault.names.chainRecord(at))));
  const manifest = await vault.store.get(vault.names.manifest((good[0]?.id ?? "").replaceAll("-", "")));
  await vault.store.put(vault.names.manifest("00".repeat(16)), manifest);
  await pass(prey, async (day) => {
    if (day === 1) await vault.store.put(vault.names.chainRecord(sequence + 1), records[0] ?? new Uint8Array());
    if (day === 3) await vault.store.delete(vault.names.chainRecord(sequence + 1));
    if (day === 4) await vault.store.delete(vault.names.chainRecord(sequence));
  });
  await assertAllRestore(prey);
});

test("with a clock two years ahead: what deletes stops, in every run of a week", async () => {
  const prey = await prepare();
  const { env, sourceId } = prey;
  const { accountId, vaultId, service } = env;
  const ahead: Clock = {
    ...service.clock,
    now: () => new Date(service.clock.now().getTime() + 2 * 365 * dayMs),
  };
  for (let day = 0; day < 7; day++) {
    // Its 72 hours are not over at the end of the week; by the wrong clock they are at once.
    if (day === 5)
      assert.equal((await env.putPolicy(`/v1/sources/${sourceId}/retention`, { keep_last: 1 })).status, 202);
    for (const task of [applyRetention, pruneVault])
      await assert.rejects(runTask(env, task, { accountId, vaultId }, ahead), { code: "clocks_differ" });
    env.wait(dayMs);
  }
  await assertAllRestore(prey);
});
