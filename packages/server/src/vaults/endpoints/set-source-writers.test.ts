import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, describe, test } from "node:test";
import { makeAgent } from "../../agents/testing.ts";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";
import { startTestService } from "../../testing/running.ts";
import { auditedActions, makeSourceBy } from "../testing.ts";

const service = await startTestService({ after });
const owner = await tokenFor(service);
const accountId = owner.accountId ?? "";
const first = await tokenFor(service, { accountId, as: "client" });
const second = await tokenFor(service, { accountId, as: "client" });
const id = await makeSourceBy(service, first.auth, "sunucu");

function set(writers: readonly object[], headers: Record<string, string> = {}) {
  return service.send("PUT", `/v1/sources/${id}/writers`, {
    json: { writers },
    headers: { ...owner.auth, ...headers },
  });
}

const clients = (...ids: readonly (string | null)[]) => ids.map((one) => ({ kind: "client", id: one }));

describe("PUT /v1/sources/{id}/writers", () => {
  test("200: binds and unbinds; who stays keeps when and by whom it was bound", async () => {
    service.clock.advance(1000);
    const both = await set(clients(second.clientId, first.clientId));
    const data = listIn<{ id: string; bound_by: string | null }>(both, "data");
    assert.deepEqual(
      data.map((one) => [one.id, one.bound_by]),
      [
        [first.clientId, null],
        [second.clientId, owner.personId],
      ],
    );
    const one = listIn<{ id: string }>(await set(clients(second.clientId)), "data");
    assert.deepEqual(
      one.map((writer) => writer.id),
      [second.clientId],
    );
    assert.deepEqual((await set([])).json, { data: [] });
    const actions = await auditedActions(service, accountId);
    const expected = ["source.created", "source.writer_bound", "source.writer_unbound", "source.writer_unbound"];
    assert.deepEqual(actions, expected);
  });

  test("422: a client, agent or member of nobody or of another account, a revoked agent, and a repeated one", async () => {
    const other = await tokenFor(service);
    const theirs = await tokenFor(service, { accountId: other.accountId ?? "", as: "client" });
    const theirAgent = await makeAgent(service, other.accountId ?? "");
    const agent = await makeAgent(service, accountId);
    const revoked = await makeAgent(service, accountId, { seed: 2 });
    assert.equal((await service.send("DELETE", revoked.target, { headers: owner.auth })).status, 204);
    for (const writers of [
      clients(randomUUID()),
      clients(theirs.clientId),
      [{ kind: "member", id: other.personId }],
      [{ kind: "member", id: first.clientId }],
      [{ kind: "staff", id: owner.personId }],
      [{ kind: "agent", id: randomUUID() }],
      [{ kind: "agent", id: theirAgent.sessionId }],
      [{ kind: "agent", id: revoked.sessionId }],
      // Its own id is not that of its writer.
      [{ kind: "agent", id: agent.id }],
      clients(first.clientId, first.clientId),
    ]) {
      const answer = await set(writers);
      assert.equal(answer.json?.code, "validation_failed", JSON.stringify(writers));
    }
    assert.equal(
      (
        await set([
          { kind: "agent", id: agent.sessionId },
          { kind: "member", id: owner.personId },
        ])
      ).status,
      200,
    );
  });

  test("412: writers that changed since they were read", async () => {
    const target = `/v1/sources/${id}/writers`;
    const { etag = "" } = (await service.send("GET", target, { headers: owner.auth })).headers;
    assert.equal((await set(clients(first.clientId), { "if-match": etag })).status, 200);
    assert.equal((await set(clients(second.clientId), { "if-match": etag })).json?.code, "precondition_failed");
  });
});
