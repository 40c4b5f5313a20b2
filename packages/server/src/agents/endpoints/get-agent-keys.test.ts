import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";
import { codeOf, makeAgent } from "../testing.ts";

const service = await startTestService({ after });

test("an agent that may only write reads its own keys; the owner and other agents get 404", async () => {
  const owner = await tokenFor(service);
  const accountId = owner.accountId ?? "";
  const agent = await makeAgent(service, accountId, { seed: 1, bearer: { scopes: ["snapshots:write"] } });
  const other = await makeAgent(service, accountId, { seed: 2 });
  const target = `${agent.target}/keys`;
  const own = await service.send("GET", target, { headers: agent.auth });
  assert.deepEqual([own.status, own.json?.keys], [200, agent.keys]);
  for (const { auth: headers } of [owner, other, await tokenFor(service)])
    assert.equal(codeOf(await service.send("GET", target, { headers })), "404 not_found");
});
