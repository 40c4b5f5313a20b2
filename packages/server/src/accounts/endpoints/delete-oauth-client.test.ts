import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";
import { isGoodSecret, makeClient } from "../testing.ts";

const service = await startTestService({ after });

test("the program is gone and its secret good for nothing, also in a suspended account", async () => {
  const owner = await tokenFor(service);
  const { client, secret, target } = await makeClient(service, owner.auth);
  assert.ok(await isGoodSecret(service, client.id, secret));
  const query = "update emanet.accounts set state = 'suspended' where id = $1";
  await storedRows(service.database, query, [owner.accountId]);
  assert.equal((await service.send("DELETE", target, { headers: owner.auth })).status, 204);
  assert.equal((await service.send("GET", target, { headers: owner.auth })).status, 404);
  assert.ok(!(await isGoodSecret(service, client.id, secret)));
});
