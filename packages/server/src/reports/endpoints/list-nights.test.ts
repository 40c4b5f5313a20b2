import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type SnapshotJson, snapshotTest, tarOf } from "../../snapshots/testing.ts";
import { makeTaxpayer } from "../../taxpayers/testing.ts";
import { tokenFor } from "../../testing/accounts.ts";
import { makeSourceBy, makeVault } from "../../vaults/testing.ts";
import { addDays, dayOf, startOf } from "../istanbul-days.ts";

const env = await snapshotTest({ after });
const owner = await env.as({ role: "owner" });
const today = dayOf(env.service.clock.now());

interface Row {
  readonly name: string;
  readonly taxpayer_id: string | null;
  readonly source_id: string | null;
  readonly states: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
  readonly last_good_at: string | null;
}

async function nights(query: string, headers = env.auth): Promise<readonly Row[]> {
  const answer = await env.get(`/v1/nights?${query}`, headers);
  assert.equal(answer.status, 200, answer.body.toString());
  return answer.json?.data as Row[];
}

/** Moves a snapshot to a time of a day in Istanbul. */
async function moveTo(id: unknown, day: number, hour = 2): Promise<void> {
  const at = new Date(startOf(addDays(today, day)).getTime() + hour * 3_600_000);
  await env.rows(
    "update emanet.snapshots set created_at = $2::timestamptz, completed_at = case when completed_at is not null then $2::timestamptz end where id = $1",
    [id, at],
  );
}

async function makeSource(name: string, made: number, expectedEvery: number | null, more: object = {}): Promise<void> {
  const id = await makeSourceBy(env.service, owner, name, { expected_every: expectedEvery, ...more });
  await env.rows("update emanet.sources set created_at = $2 where id = $1", [id, startOf(addDays(today, made))]);
}

const rowOf = (rows: readonly Row[], name: string) => rows.find((row) => row.name === name);
const range = `from=${addDays(today, -6)}&to=${today}`;

test("200: a row per source, a state per day in Istanbul", async () => {
  await makeSource("gece", -20, 86_400);
  const first = await env.completed("gece", { f: "1" });
  const same = await env.completed("gece", { f: "1" });
  const changed = await env.completed("gece", { f: "2" });
  const failed = await env.upload("source=gece", Buffer.from("no tar".repeat(100)));
  await moveTo(first.id, -8);
  await moveTo(same.id, -6);
  await moveTo(changed.id, -4);
  await moveTo(failed.json?.snapshot_id, -2);
  await env.send("POST", "/v1/snapshots", { source: "gece" });
  const row = rowOf(await nights(range), "gece");
  assert.deepEqual(row?.states, ["unchanged", "late", "ok", "late", "failed", "late", "running"]);
  assert.deepEqual(row?.counts, { ok: 1, unchanged: 1, late: 3, failed: 1, running: 1, none: 0 });
  assert.equal(row?.taxpayer_id, null);
  assert.notEqual(row?.last_good_at, null);
});

test("a day ends at midnight in Istanbul, and a completed snapshot counts more than a failed one", async () => {
  await makeSource("sinir", -20, null);
  const late = await env.completed("sinir", { f: "1" });
  const early = await env.completed("sinir", { f: "2" });
  const failed = await env.upload("source=sinir", Buffer.from("no tar".repeat(100)));
  await moveTo(late.id, -5, 23.99);
  await moveTo(early.id, -3, 0);
  await moveTo(failed.json?.snapshot_id, -3, 5);
  const row = rowOf(await nights(range), "sinir");
  assert.deepEqual(row?.states, ["none", "ok", "none", "ok", "none", "none", "none"]);
});

test("nothing is late before the time has passed, and never without an expectation", async () => {
  await makeSource("haftalık", -3, 5 * 86_400);
  await makeSource("yeni", -3, 86_400);
  const rows = await nights(range);
  assert.deepEqual(rowOf(rows, "haftalık")?.states, ["none", "none", "none", "none", "none", "none", "none"]);
  assert.deepEqual(rowOf(rows, "yeni")?.states.slice(0, 6), ["none", "none", "none", "none", "late", "late"]);
});

test("days to come are none, also of a source that is late today", async () => {
  await makeSource("geciken", -3, 3_600);
  const row = rowOf(await nights(`from=${today}&to=${addDays(today, 2)}`), "geciken");
  assert.deepEqual(row?.states, ["late", "none", "none"]);
});

test("a taxpayer has one row, with the worst of its sources; its vault's sources have none", async () => {
  const taxpayer = await makeTaxpayer(env.service, owner, "Çınar Örnek");
  const vault = { vault_id: taxpayer.vault_id };
  await makeSource("iyi", -20, null, vault);
  await makeSource("kötü", -20, 86_400, vault);
  const { id } = (await env.upload(`source=iyi&vault_id=${taxpayer.vault_id}`, tarOf({ a: "1" }))).json as SnapshotJson;
  await moveTo(id, -1);
  const rows = await nights(range);
  const row = rowOf(rows, "Çınar Örnek");
  assert.deepEqual(row?.states.slice(-2), ["late", "late"]);
  assert.equal(row?.taxpayer_id, taxpayer.id);
  assert.equal(rowOf(rows, "iyi"), undefined);
  await env.rows("update emanet.sources set expected_every_s = null where name = 'kötü'");
  assert.deepEqual(rowOf(await nights(range), "Çınar Örnek")?.states.slice(-2), ["ok", "none"]);
});

test("a deleted snapshot leaves its night", async () => {
  const { id } = await env.completed("silinen", { f: "1" });
  assert.equal(rowOf(await nights(range), "silinen")?.states.at(-1), "ok");
  await env.service.send("DELETE", `/v1/snapshots/${id}`, { headers: owner });
  assert.equal(rowOf(await nights(range), "silinen")?.states.at(-1), "none");
});

test("304: the same nights again", async () => {
  const first = await env.get(`/v1/nights?${range}`);
  const again = await env.get(`/v1/nights?${range}`, { "if-none-match": String(first.headers.etag) });
  assert.equal(again.status, 304);
});

test("30 days if none are given, 92 at most; pages by name", async () => {
  const { json } = await env.get("/v1/nights");
  assert.deepEqual([json?.from, json?.to], [addDays(today, -29), today]);
  const get = async (query: string) => (await env.get(`/v1/nights?${query}`)).status;
  assert.equal(await get(`from=${addDays(today, -91)}`), 200);
  assert.equal(await get(`from=${addDays(today, -92)}`), 422);
  assert.equal(await get(`from=${today}&to=${addDays(today, -1)}`), 422);
  assert.equal(await get("from=2026-02-30"), 422);
  for (const wrong of ["x", "9999-12-31", "0000-01-01", "1999-12-31", "-271821-04-20"])
    assert.equal(await get(`from=${wrong}&to=${wrong}`), 422, wrong);
  const all = (await nights(range)).map(({ name }) => name);
  assert.deepEqual(all, all.toSorted(new Intl.Collator("tr").compare));
  const paged: string[] = [];
  for (let more = ""; ; ) {
    const page = (await env.get(`/v1/nights?${range}&limit=2${more}`)).json as {
      data: Row[];
      next_cursor: string | null;
    };
    paged.push(...page.data.map(({ name }) => name));
    if (page.next_cursor === null) break;
    more = `&cursor=${page.next_cursor}`;
  }
  assert.deepEqual(paged, all);
});

test("a client that is held to vaults sees these alone; another account sees nothing", async () => {
  const vault = await makeVault(env.service, owner, "Ayrı");
  await env.upload(`source=ayri&vault_id=${vault}`, tarOf({ a: "1" }));
  const held = await env.as({ as: "client", kind: "api", vaultIds: [vault] });
  assert.deepEqual(
    (await nights(range, held)).map(({ name }) => name),
    ["ayri"],
  );
  assert.deepEqual(await nights(range, (await tokenFor(env.service, { as: "client", kind: "api" })).auth), []);
});
