import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { startTestService } from "../../testing/running.ts";
import { makeAgent } from "../testing.ts";

const service = await startTestService({ after });

test("agents of the account, newest first, with their state; revoked ones and those of others are not listed", async () => {
  const owner = await tokenFor(service);
  const accountId = owner.accountId ?? "";
  const first = await makeAgent(service, accountId, { seed: 1 });
  service.clock.advance(1000);
  const second = await makeAgent(service, accountId, { seed: 2 });
  const gone = await makeAgent(service, accountId, { seed: 3 });
  await makeAgent(service, (await tokenFor(service)).accountId ?? "", { seed: 4 });
  await service.send("DELETE", gone.target, { headers: owner.auth });
  const listed = await service.send("GET", "/v1/agents", { headers: owner.auth });
  const ids = listIn<{ id: string }>(listed, "data").map(({ id }) => id);
  assert.deepEqual(ids, [second.id, first.id]);
});

test("a client that is held to vaults sees the agents of these vaults, and of their vaults only these", async () => {
  const owner = await tokenFor(service);
  const accountId = owner.accountId ?? "";
  const agent = await makeAgent(service, accountId);
  const read = async (vaultIds: readonly string[]) => {
    const { auth: headers } = await tokenFor(service, { accountId, as: "client", vaultIds });
    const list = listIn<{ vaults: string[] }>(await service.send("GET", "/v1/agents", { headers }), "data");
    return {
      list: list.map(({ vaults }) => vaults),
      one: (await service.send("GET", agent.target, { headers })).status,
    };
  };
  const vault = agent.keys[0]?.vault_id ?? "";
  assert.deepEqual(await read([vault]), { list: [[vault]], one: 200 });
  assert.deepEqual(await read([owner.sessionId]), { list: [], one: 404 });
});
