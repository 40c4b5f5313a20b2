import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventsOf, snapshotTest } from "../testing.ts";

const env = await snapshotTest({ after });
const queued = async (source: string) => (await env.send("POST", "/v1/snapshots", { source })).json?.id as string;

test("200: a queued upload is canceled, with its event; a second time is 409", async () => {
  const id = await queued("a");
  const answer = await env.send("POST", `/v1/snapshots/${id}/cancel`);
  assert.deepEqual([answer.status, answer.json?.status], [200, "canceled"]);
  const last = (await eventsOf(env)).at(-1);
  assert.deepEqual([last?.event, last?.snapshot_id, last?.failure], ["snapshot.failed", id, "canceled"]);
  assert.equal((await env.send("POST", `/v1/snapshots/${id}/cancel`)).json?.code, "state_conflict");
});

test("409: a completed snapshot is not canceled", async () => {
  const { id } = await env.completed("done", { a: "1" });
  assert.equal((await env.send("POST", `/v1/snapshots/${id}/cancel`)).json?.code, "state_conflict");
});

test("an upload obeys its creator; members who manage the account may cancel it, others may not", async () => {
  const id = await queued("b");
  const cancel = (headers: Readonly<Record<string, string>>) =>
    env.service.send("POST", `/v1/snapshots/${id}/cancel`, { headers });
  assert.equal((await cancel(await env.as({ as: "client", kind: "api" }))).json?.code, "insufficient_role");
  assert.equal((await cancel(await env.as({ as: "client", kind: "api", scopes: ["snapshots:write"] }))).status, 404);
  assert.equal((await cancel(await env.as({ role: "operator" }))).json?.code, "insufficient_role");
  assert.equal((await cancel(await env.as({ role: "manager" }))).status, 200);
});
