import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { webhookTest } from "../testing/webhook-test.ts";

const env = await webhookTest({ after });
const staff = await tokenFor(env.service, { as: "staff" });

test("staff see the webhooks of all accounts, and of their addresses the host alone", async () => {
  const [one, other] = [await env.account(), await env.account()];
  const url = "https://hooks.example.com/gizli?anahtar=gizli";
  const first = await one.webhook({ url, description: "gizli" });
  await other.webhook({ url });
  const list = async (query: string) => {
    const answer = await env.service.send("GET", `/v1/admin/webhooks${query}`, { headers: staff.auth });
    assert.doesNotMatch(answer.body.toString(), /gizli/);
    return listIn<{ id: string; host: string }>(answer, "data");
  };
  assert.equal((await list("")).length, 2);
  assert.deepEqual(
    (await list(`?account_id=${one.accountId}`)).map(({ id, host }) => [id, host]),
    [[first.id, "hooks.example.com"]],
  );
});
