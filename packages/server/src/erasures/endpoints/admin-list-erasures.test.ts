import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { erasureTest } from "../testing.ts";

const env = await erasureTest({ after });

test("staff see the erasures of all accounts; owners get 403", async () => {
  const id = await env.newVault("Eski");
  await env.deleteVault(id);
  await env.erase(id);
  const { auth } = await tokenFor(env.service, { as: "staff" });
  const [shown] = listIn<{ vault_id: string; account_id: string; proof: string }>(
    await env.call("GET", "/v1/admin/erasures", undefined, auth),
    "data",
  );
  assert.deepEqual([shown?.vault_id, shown?.account_id], [id, env.accountId]);
  assert.match(shown?.proof ?? "", /^[\w-]+\.[\w-]+\.[\w-]+$/);
  assert.equal((await env.call("GET", "/v1/admin/erasures")).json?.code, "admin_required");
});
