import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { storedRows } from "../../testing/rows.ts";
import { startTestService } from "../../testing/running.ts";
import { makeClient } from "../testing.ts";

const service = await startTestService({ after });

test("the owner who reviews a client answers for it; a second review changes nothing", async () => {
  const owner = await tokenFor(service);
  const manager = await tokenFor(service, { accountId: owner.accountId ?? "", role: "manager" });
  const { client, target } = await makeClient(service, manager.auth);
  const wait = "update emanet.oauth_clients set review_since = now() where id = $1";
  await storedRows(service.database, wait, [client.id]);
  const review = () => service.send("POST", `${target}/review`, { headers: owner.auth });
  const first = await review();
  assert.deepEqual(
    [first.status, first.json?.responsible_id, first.json?.review_since],
    [200, owner.personId, null],
    first.body.toString(),
  );
  assert.deepEqual((await review()).json, first.json);
  const records = await storedRows(
    service.database,
    "select 1 from emanet.audit_records where account_id = $1 and action = 'oauth_client.reviewed'",
    [owner.accountId],
  );
  assert.equal(records.length, 1);
});
