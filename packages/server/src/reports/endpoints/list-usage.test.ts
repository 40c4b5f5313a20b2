import assert from "node:assert/strict";
import { after, test } from "node:test";
import { runTask, snapshotTest, tarOf } from "../../snapshots/testing.ts";
import { tokenFor } from "../../testing/accounts.ts";
import { defaultVaultId, makeVault } from "../../vaults/testing.ts";
import { addDays, dayOf } from "../istanbul-days.ts";
import { recordUsage } from "../jobs.ts";

const env = await snapshotTest({ after });
const owner = await env.as({ role: "owner" });
const today = dayOf(env.service.clock.now());
const vaultId = await defaultVaultId(env.service, owner);

interface Usage {
  readonly vault_id: string;
  readonly stored_bytes: number;
  readonly size_bytes: number;
  readonly quota_bytes: number | null;
  readonly quota_reached_on: string | null;
  readonly days: readonly { readonly day: string; readonly stored_bytes: number; readonly size_bytes: number }[];
}

async function usage(query = "", headers = env.auth): Promise<readonly Usage[]> {
  const answer = await env.get(`/v1/usage?${query}`, headers);
  assert.equal(answer.status, 200, answer.body.toString());
  return answer.json?.data as Usage[];
}

const ofVault = async (query = "") => (await usage(query)).find((one) => one.vault_id === vaultId);
const count = async () => Number((await env.rows<{ n: number }>("select count(*) as n from emanet.vault_usage"))[0]?.n);

/** Notes of earlier days, as the task would have made them. */
async function note(day: number, stored: number, size: number): Promise<void> {
  await env.rows(
    `insert into emanet.vault_usage (vault_id, day, account_id, stored_bytes, size_bytes) values ($1, $2, $3, $4, $5)`,
    [vaultId, addDays(today, day), env.accountId, stored, size],
  );
}

test("200: what is stored now and by day; a day without a note is like the one before", async () => {
  await env.completed("a", { f: "x".repeat(5_000) });
  await note(-40, 10, 100);
  await note(-3, 30, 300);
  const found = await ofVault(`from=${addDays(today, -5)}`);
  assert.equal(found?.size_bytes, 5_000);
  assert.ok(Number(found?.stored_bytes) > 0);
  const now = { day: today, stored_bytes: found?.stored_bytes, size_bytes: 5_000 };
  const was = (day: number, stored_bytes: number, size_bytes: number) => ({
    day: addDays(today, day),
    stored_bytes,
    size_bytes,
  });
  assert.deepEqual(found?.days, [
    was(-5, 10, 100),
    was(-4, 10, 100),
    was(-3, 30, 300),
    was(-2, 30, 300),
    was(-1, 30, 300),
    now,
  ]);
  const early = await ofVault(`from=${addDays(today, -42)}&to=${addDays(today, -39)}`);
  assert.deepEqual(early?.days, [was(-40, 10, 100), was(-39, 10, 100)], "nothing before the first note");
});

test("the task notes a vault when something has changed, once a day", async () => {
  await runTask(env, recordUsage, {});
  const before = await count();
  await runTask(env, recordUsage, {});
  assert.equal(await count(), before);
  await env.completed("b", { f: "y".repeat(3_000) });
  await runTask(env, recordUsage, {});
  assert.equal(await count(), before);
  const [row] = await env.rows<{ size_bytes: number }>(
    "select size_bytes from emanet.vault_usage where vault_id = $1 and day = $2",
    [vaultId, today],
  );
  assert.equal(Number(row?.size_bytes), 8_000);
});

test("the quota is reached on the day that the pace of 30 days says", async () => {
  const stored = Number((await ofVault())?.stored_bytes);
  const set = (bytes: number | null) =>
    env.rows("update emanet.vaults set quota_bytes = $2 where id = $1", [vaultId, bytes]);
  assert.equal((await ofVault())?.quota_reached_on, null, "no quota");
  // 30 days ago 10 bytes were stored.
  await set(stored + Math.floor((10 * (stored - 10)) / 30));
  assert.equal((await ofVault())?.quota_reached_on, addDays(today, 10));
  await set(stored);
  assert.equal((await ofVault())?.quota_reached_on, today);
  await set(stored * 1000);
  assert.equal((await ofVault())?.quota_reached_on, null, "decades");
});

test("92 days at most; a client that is held to vaults sees these alone; another account sees its own", async () => {
  const get = async (query: string) => (await env.get(`/v1/usage?${query}`)).status;
  assert.equal(await get(`from=${addDays(today, -91)}`), 200);
  assert.equal(await get(`from=${addDays(today, -92)}`), 422);
  const vault = await makeVault(env.service, owner, "Ayrı");
  await env.upload(`source=x&vault_id=${vault}`, tarOf({ a: "1" }));
  const held = await env.as({ as: "client", kind: "api", vaultIds: [vault] });
  const ids = async (query: string, headers = env.auth) => (await usage(query, headers)).map(({ vault_id: id }) => id);
  assert.deepEqual(await ids("", held), [vault]);
  assert.deepEqual(await ids(`vault_id=${vaultId}`, held), []);
  assert.deepEqual(await ids(`vault_id=${vaultId}`), [vaultId]);
  assert.equal((await ids("")).length, 2);
  const stranger = (await tokenFor(env.service, { as: "client", kind: "api" })).auth;
  assert.deepEqual(await ids(`vault_id=${vaultId}`, stranger), []);
  const page = (await env.get("/v1/usage?limit=1")).json;
  assert.equal(page?.has_more, true);
  assert.equal((await env.get(`/v1/usage?limit=1&cursor=${page?.next_cursor}`)).json?.has_more, false);
});
