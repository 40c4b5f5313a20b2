import assert from "node:assert/strict";
import { after, test } from "node:test";
import { snapshotTest, tarOf } from "../../snapshots/testing.ts";
import { tokenFor } from "../../testing/accounts.ts";
import { defaultVaultId, makeVault } from "../../vaults/testing.ts";
import { addDays, dayOf } from "../istanbul-days.ts";

const env = await snapshotTest({ after });
const owner = await env.as({ role: "owner" });
const today = dayOf(env.service.clock.now());
const first = await defaultVaultId(env.service, owner);
const second = await makeVault(env.service, owner, "İkinci");
await env.upload(`source=a&vault_id=${first}`, tarOf({ f: "x".repeat(5_000) }));
await env.upload(`source=b&vault_id=${second}`, tarOf({ f: "y".repeat(3_000) }));

interface Total {
  readonly vaults: number;
  readonly stored_bytes: number;
  readonly size_bytes: number;
  readonly quota_bytes: number | null;
  readonly days: readonly { readonly day: string; readonly stored_bytes: number; readonly size_bytes: number }[];
}

async function total(query = "", headers = env.auth): Promise<Total> {
  const answer = await env.get(`/v1/usage/total?${query}`, headers);
  assert.equal(answer.status, 200, answer.body.toString());
  return answer.json as unknown as Total;
}

/** A note of an earlier day, as the task would have made it. */
async function note(vault: string, day: number, stored: number, size: number): Promise<void> {
  await env.rows(
    `insert into emanet.vault_usage (vault_id, day, account_id, stored_bytes, size_bytes) values ($1, $2, $3, $4, $5)`,
    [vault, addDays(today, day), env.accountId, stored, size],
  );
}

test("200: the sums of all vaults by day; a vault without a note of a day counts as the day before", async () => {
  await note(first, -40, 10, 100);
  await note(first, -3, 30, 300);
  await note(second, -4, 5, 50);
  await note(second, -2, 1, 20);
  const { days, ...now } = await total(`from=${addDays(today, -5)}`);
  const was = (day: number, stored_bytes: number, size_bytes: number) => ({
    day: addDays(today, day),
    stored_bytes,
    size_bytes,
  });
  assert.deepEqual(days, [
    ...[was(-5, 10, 100), was(-4, 15, 150), was(-3, 35, 350), was(-2, 31, 320), was(-1, 31, 320)],
    was(0, now.stored_bytes, 8_000),
  ]);
  assert.deepEqual(
    { vaults: now.vaults, size: now.size_bytes, quota: now.quota_bytes },
    { vaults: 2, size: 8_000, quota: null },
  );
  const old = await total(`from=${addDays(today, -60)}&to=${addDays(today, -39)}`);
  assert.deepEqual(old.days, [was(-40, 10, 100), was(-39, 10, 100)], "days before the first note are left out");
  const each = (await env.get(`/v1/usage?from=${addDays(today, -5)}`)).json?.data as readonly Total[];
  for (const [at, day] of days.entries())
    assert.equal(
      day.stored_bytes,
      each.reduce((sum, vault) => sum + (vault.days.find((one) => one.day === day.day)?.stored_bytes ?? 0), 0),
      `day ${at} is the sum of the vaults`,
    );
});

test("there is a quota of the account when every vault has one", async () => {
  await env.rows("update emanet.vaults set quota_bytes = 700 where id = $1", [first]);
  assert.equal((await total()).quota_bytes, null);
  await env.rows("update emanet.vaults set quota_bytes = 300 where id = $1", [second]);
  assert.equal((await total()).quota_bytes, 1_000);
});

test("366 days at most; a client that is held to vaults gets the sums of these alone; another account has nothing", async () => {
  const get = async (query: string) => (await env.get(`/v1/usage/total?${query}`)).status;
  assert.equal(await get(`from=${addDays(today, -365)}`), 200);
  assert.equal(await get(`from=${addDays(today, -366)}`), 422);
  const held = await total(
    `from=${addDays(today, -2)}`,
    await env.as({ as: "client", kind: "api", vaultIds: [second] }),
  );
  assert.deepEqual([held.vaults, held.size_bytes, held.days[0]?.stored_bytes], [1, 3_000, 1]);
  const stranger = await total("", (await tokenFor(env.service, { as: "client", kind: "api" })).auth);
  assert.deepEqual([stranger.size_bytes, stranger.stored_bytes], [0, 0]);
});
