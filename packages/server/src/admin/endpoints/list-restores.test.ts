import assert from "node:assert/strict";
import { after, test } from "node:test";
import { manyRestores, restored } from "../../restores/testing.ts";
import { snapshotTest } from "../../snapshots/testing.ts";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";

const env = await snapshotTest({ after }, manyRestores);

test("200: restores of all accounts, by account and state, without any path", async () => {
  const { id: snapshot } = await env.completed("admin", { "gizli/ad.txt": "1" });
  const { id } = await restored(env, { snapshot_id: snapshot, paths: ["gizli/ad.txt"] });
  const { auth: headers } = await tokenFor(env.service, { as: "staff" });
  const list = async (query: string) => {
    const answer = await env.service.send("GET", `/v1/admin/restores?${query}`, { headers });
    assert.equal(answer.status, 200, answer.body.toString());
    assert.doesNotMatch(answer.body.toString(), /gizli/);
    return listIn<{ id: string; status: string; target: string }>(answer, "data");
  };
  const [found] = await list(`account_id=${env.accountId}&status=completed`);
  assert.deepEqual([found?.id, found?.status, found?.target], [id, "completed", "download"]);
  assert.deepEqual(await list(`account_id=${env.accountId}&failure=internal`), []);
  assert.equal((await env.get("/v1/admin/restores")).status, 403);
});
