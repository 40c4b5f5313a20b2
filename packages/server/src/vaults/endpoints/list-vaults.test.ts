import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { startTestService } from "../../testing/running.ts";
import { defaultVaultId, makeVault, namesIn } from "../testing.ts";

const service = await startTestService({ after });
const owner = await tokenFor(service);
const accountId = owner.accountId ?? "";
const names = ["zeytin", "Çınar", "ılıca", "İnci", "cam", "Şeker", "sarı"];
const ids: string[] = [];
for (const name of names) ids.push(await makeVault(service, owner.auth, name));

describe("GET /v1/vaults", () => {
  test("200: the default vault and all others, by name in the Turkish alphabet", async () => {
    const sorted = ["cam", "Çınar", "ılıca", "İnci", "sarı", "Şeker", "Varsayılan", "zeytin"];
    assert.deepEqual(await namesIn(service, owner.auth, "/v1/vaults?sort=name"), sorted);
    assert.deepEqual(await namesIn(service, owner.auth, "/v1/vaults?sort=-name"), sorted.toReversed());
    assert.deepEqual(await namesIn(service, owner.auth, "/v1/vaults?kind=default"), ["Varsayılan"]);
    assert.equal((await namesIn(service, owner.auth, "/v1/vaults?kind=other&limit=100")).length, names.length);
  });

  test("200: pages by name lose and repeat nothing, and a cursor is bound to its filter", async () => {
    const read: string[] = [];
    for (let cursor: unknown = "", more = true; more; ) {
      const target = `/v1/vaults?sort=name&limit=3${cursor === "" ? "" : `&cursor=${cursor}`}`;
      const answer = await service.send("GET", target, { headers: owner.auth });
      read.push(...listIn<{ name: string }>(answer, "data").map(({ name }) => name));
      cursor = answer.json?.next_cursor;
      more = answer.json?.has_more === true;
      if (!more) continue;
      const other = await service.send("GET", `/v1/vaults?sort=name&kind=other&cursor=${cursor}`, {
        headers: owner.auth,
      });
      assert.equal(other.json?.code, "invalid_cursor");
    }
    assert.deepEqual(read, await namesIn(service, owner.auth, "/v1/vaults?sort=name"));
  });

  test("200: a client that is held to vaults sees these alone; with none it sees nothing", async () => {
    const [first = "", second = ""] = ids;
    const seen = async (vaultIds: readonly string[]) => {
      const { auth } = await tokenFor(service, { accountId, as: "client", vaultIds });
      return namesIn(service, auth, "/v1/vaults?sort=created_at");
    };
    assert.deepEqual((await seen([first, second])).sort(), ["zeytin", "Çınar"].sort());
    assert.deepEqual(await seen([]), []);
    const other = await tokenFor(service);
    assert.deepEqual(await seen([await defaultVaultId(service, other.auth)]), [], "a vault of another account");
  });
});
