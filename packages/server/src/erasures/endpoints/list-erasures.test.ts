import assert from "node:assert/strict";
import { after, test } from "node:test";
import { listIn } from "../../testing/lists.ts";
import { erasureTest } from "../testing.ts";

const env = await erasureTest({ after });

test("the newest first, in pages; without erasures an empty list", async () => {
  assert.deepEqual(listIn(await env.call("GET", "/v1/erasures"), "data"), []);
  const ids = [await env.newVault("Bir"), await env.newVault("İki")];
  for (const id of ids) {
    await env.deleteVault(id);
    await env.erase(id);
  }
  const page = await env.call("GET", "/v1/erasures?limit=1");
  const [first] = listIn<{ vault_id: string }>(page, "data");
  const next = await env.call("GET", `/v1/erasures?limit=1&cursor=${page.json?.next_cursor}`);
  const [second] = listIn<{ vault_id: string }>(next, "data");
  assert.deepEqual([first?.vault_id, second?.vault_id], [ids[1], ids[0]]);
});
