import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";
import { makeTaxpayer } from "../testing.ts";

const service = await startTestService({ after });
const owner = await tokenFor(service);
const accountId = owner.accountId ?? "";

/** Names, and for each source of the taxpayer the hours since its last good snapshot; all are expected daily. */
const ages: readonly (readonly [string, readonly (number | null)[]])[] = [
  ["Şahin", [1]],
  ["Sarı", [1, 2]],
  ["Çelik", [1, 30]],
  ["Ceylan", [1, null]],
  ["Irmak", []],
  ["İpek", [49]],
];
const vaults = new Map<string, string>();
for (const [name, hours] of ages) {
  const { vault_id: vault } = await makeTaxpayer(service, owner.auth, name);
  vaults.set(name, vault);
  for (const [index, age] of hours.entries()) {
    const json = { name: `kaynak ${index}`, vault_id: vault, expected_every: 24 * 3600 };
    const { json: source } = await service.send("POST", "/v1/sources", { json, headers: owner.auth });
    const at = age === null ? null : new Date(service.clock.now().getTime() - age * 3_600_000);
    await storedRows(
      service.database,
      `update emanet.sources set last_good_at = $2, size_bytes = 10, last_snapshot_id = $3,
         last_snapshot_status = 'completed', last_snapshot_completed_at = $2 where id = $1`,
      [source?.id, at, `0199c0de-0000-7000-8000-00000000000${index}`],
    );
  }
}

async function list(query: string, auth = owner.auth) {
  const answer = await service.send("GET", `/v1/taxpayers?${query}`, { headers: auth });
  assert.equal(answer.status, 200, answer.body.toString());
  return listIn<{ name: string; freshness: string; size_bytes: number; last_snapshot: { id: string } }>(answer, "data");
}
const names = async (query: string, auth = owner.auth) => (await list(query, auth)).map(({ name }) => name);

describe("GET /v1/taxpayers", () => {
  test("200: the worst first, where one source that is late or never came makes its taxpayer so", async () => {
    const found = await list("sort=freshness");
    assert.deepEqual(
      found.map(({ name, freshness }) => [name, freshness]),
      [
        ["Ceylan", "never"],
        ["Irmak", "never"],
        ["Çelik", "late"],
        ["İpek", "late"],
        ["Sarı", "ok"],
        ["Şahin", "ok"],
      ],
    );
    const read: string[] = [];
    let cursor = "";
    for (let page = 0; page < 3; page++) {
      const answer = await service.send("GET", `/v1/taxpayers?sort=freshness&limit=2${cursor}`, {
        headers: owner.auth,
      });
      read.push(...listIn<{ name: string }>(answer, "data").map(({ name }) => name));
      cursor = `&cursor=${answer.json?.next_cursor}`;
    }
    assert.deepEqual(
      read,
      found.map(({ name }) => name),
    );
  });

  test("200: sizes are summed over sources, and the newest snapshot of all is shown", async () => {
    const found = new Map((await list("limit=100")).map((one) => [one.name, one]));
    assert.deepEqual([found.get("Sarı")?.size_bytes, found.get("Şahin")?.size_bytes], [20, 10]);
    assert.deepEqual([found.get("Irmak")?.size_bytes, found.get("Irmak")?.last_snapshot], [null, null]);
    assert.equal(found.get("Sarı")?.last_snapshot.id, "0199c0de-0000-7000-8000-000000000001");
  });

  test("200: by name in the Turkish alphabet, by state and freshness, within the vaults of a client", async () => {
    const sorted = ["Ceylan", "Çelik", "Irmak", "İpek", "Sarı", "Şahin"];
    assert.deepEqual(await names("sort=name"), sorted);
    assert.deepEqual(await names("freshness=late&sort=name"), ["Çelik", "İpek"]);
    assert.deepEqual(await names("state=archived"), []);
    const held = async (...of: string[]) => {
      const vaultIds = of.map((name) => vaults.get(name) ?? "");
      return names("sort=name", (await tokenFor(service, { accountId, as: "client", vaultIds })).auth);
    };
    assert.deepEqual(await held("Sarı", "Irmak"), ["Irmak", "Sarı"]);
    assert.deepEqual(await held(), []);
    assert.deepEqual(await names("", (await tokenFor(service)).auth), [], "another account");
  });
});
