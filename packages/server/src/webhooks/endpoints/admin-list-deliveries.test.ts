import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { webhookTest } from "../testing/webhook-test.ts";

const env = await webhookTest({ after });
const staff = await tokenFor(env.service, { as: "staff" });

test("staff see the deliveries of all accounts, by account, webhook and status, without bodies", async () => {
  const [one, other] = [await env.account(), await env.account()];
  const { id } = await one.webhook();
  await other.webhook();
  await one.emit(2);
  await other.emit(1);
  await env.receiver.has(3);
  const list = async (query: string) => {
    const answer = await env.service.send("GET", `/v1/admin/webhook-deliveries?limit=100${query}`, {
      headers: staff.auth,
    });
    assert.doesNotMatch(answer.body.toString(), /snapshot_id/);
    return listIn<{ account_id: string; status: string }>(answer, "data");
  };
  await env.until(async () => (await list("&status=delivered")).length === 3);
  assert.equal((await list(`&account_id=${one.accountId}`)).length, 2);
  assert.equal((await list(`&webhook_id=${id}&status=failed`)).length, 0);
});
