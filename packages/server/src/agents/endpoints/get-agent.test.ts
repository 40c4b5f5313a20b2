import assert from "node:assert/strict";
import { after, test } from "node:test";
import { tokenFor } from "../../testing/accounts.ts";
import { startTestService } from "../../testing/running.ts";
import { codeOf, makeAgent } from "../testing.ts";

const service = await startTestService({ after });

test("an agent is online for 15 minutes after it made itself known, to the minute", async () => {
  const owner = await tokenFor(service);
  const agent = await makeAgent(service, owner.accountId ?? "");
  const read = async () => {
    // A new token: one lives for as long as an agent is online.
    const { auth: headers } = await tokenFor(service, { accountId: owner.accountId ?? "" });
    return (await service.send("GET", agent.target, { headers })).json;
  };
  assert.deepEqual([(await read())?.online, (await read())?.last_seen_at], [false, null]);
  await service.send("GET", `${agent.target}/keys`, { headers: agent.auth });
  const seen = service.clock.now().toISOString();
  service.clock.advance(30_000);
  await service.send("GET", `${agent.target}/keys`, { headers: agent.auth });
  assert.equal((await read())?.last_seen_at, seen, "not written twice in a minute");
  service.clock.advance(14 * 60_000);
  assert.equal((await read())?.online, true);
  service.clock.advance(60_000);
  assert.equal((await read())?.online, false);
});

test("404: a write-only program cannot read agents of others, and a missing one looks the same", async () => {
  const owner = await tokenFor(service);
  const agent = await makeAgent(service, owner.accountId ?? "");
  const { auth: headers } = await tokenFor(service);
  assert.equal(codeOf(await service.send("GET", agent.target, { headers })), "404 not_found");
  const writer = await tokenFor(service, {
    accountId: owner.accountId ?? "",
    as: "client",
    scopes: ["snapshots:write"],
  });
  const refused = await service.send("GET", agent.target, { headers: writer.auth });
  assert.equal(codeOf(refused), "403 insufficient_scope");
});
