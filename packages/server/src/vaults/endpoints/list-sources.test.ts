import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";
import { defaultVaultId, makeSourceBy, makeVault, namesIn } from "../testing.ts";

const service = await startTestService({ after });
const owner = await tokenFor(service);
const accountId = owner.accountId ?? "";
const vault = await makeVault(service, owner.auth);

/** Names, and how long ago the last good snapshot was, in hours. */
const ages: readonly (readonly [string, number | null])[] = [
  ["örnek", 1],
  ["ofis", 30],
  ["Ödeme", null],
  ["ıtır", null],
  ["iz", 50],
  ["zaman", 2],
];
for (const [name, hours] of ages) {
  const more = { expected_every: 24 * 3600, ...(name === "iz" && { vault_id: vault }) };
  const id = await makeSourceBy(service, owner.auth, name, more);
  const at = hours === null ? null : new Date(service.clock.now().getTime() - hours * 3_600_000);
  await storedRows(service.database, "update emanet.sources set last_good_at = $2 where id = $1", [id, at]);
}

const list = (query: string) => namesIn(service, owner.auth, `/v1/sources?${query}`);

describe("GET /v1/sources", () => {
  test("200: the worst freshness first, then the Turkish alphabet, page by page", async () => {
    const worst = ["ıtır", "Ödeme", "iz", "ofis", "örnek", "zaman"];
    assert.deepEqual(await list("sort=freshness"), worst);
    const read: string[] = [];
    let cursor = "";
    for (let page = 0; page < 3; page++) {
      const answer = await service.send("GET", `/v1/sources?sort=freshness&limit=2${cursor}`, { headers: owner.auth });
      read.push(...listIn<{ name: string }>(answer, "data").map(({ name }) => name));
      cursor = `&cursor=${answer.json?.next_cursor}`;
    }
    assert.deepEqual(read, worst);
  });

  test("200: filters by freshness, vault and name", async () => {
    assert.deepEqual(await list("freshness=late&sort=name"), ["iz", "ofis"]);
    assert.deepEqual(await list("freshness=never&sort=name"), ["ıtır", "Ödeme"]);
    assert.deepEqual(await list(`vault_id=${vault}`), ["iz"]);
    assert.deepEqual(await list(`name=${encodeURIComponent("Ödeme".normalize("NFD"))}`), ["Ödeme"]);
    assert.deepEqual(await list("vault_id=0199c0de-0000-7000-8000-00000000dead"), []);
  });

  test("200: a client that is held to vaults sees the sources of these alone", async () => {
    const seen = async (vaultIds: readonly string[], query = "") => {
      const { auth } = await tokenFor(service, { accountId, as: "client", vaultIds });
      return namesIn(service, auth, `/v1/sources?sort=name${query}`);
    };
    assert.deepEqual(await seen([vault]), ["iz"]);
    assert.deepEqual(await seen([]), []);
    const general = await defaultVaultId(service, owner.auth);
    assert.equal((await seen([general])).length, 5);
    assert.deepEqual(await seen([general], `&vault_id=${vault}`), []);
  });
});
