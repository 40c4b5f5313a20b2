import assert from "node:assert/strict";
import { after, test } from "node:test";
import { auditOf, snapshotTest } from "../testing.ts";

const env = await snapshotTest({ after });
const owner = await env.as({ role: "owner" });
const del = (id: unknown, headers: Readonly<Record<string, string>> = owner) =>
  env.service.send("DELETE", `/v1/snapshots/${id}`, { headers });

test("204: a deleted snapshot is not found, in lists and by its content", async () => {
  const { id } = await env.completed("a", { f: "1" });
  assert.equal((await del(id)).status, 204);
  for (const path of ["", "/tree", "/files/f", "/archive", "/warnings"])
    assert.equal((await env.get(`/v1/snapshots/${id}${path}`)).status, 404, path);
  assert.deepEqual((await env.get("/v1/snapshots?source=a")).json?.data, []);
  assert.equal((await del(id)).status, 404);
  assert.ok((await auditOf(env)).includes("snapshot.deleted by member"));
  assert.equal(await env.inCatalog(id), true, "its content stays");
});

test("403: programs, operators, and a second factor that is too old", async () => {
  const { id } = await env.completed("b", { f: "1" });
  assert.equal((await del(id, env.auth)).json?.code, "insufficient_scope");
  assert.equal((await del(id, await env.as({ role: "operator" }))).json?.code, "insufficient_role");
  assert.equal((await del(id, await env.as({ role: "owner", factorAgeMs: 3_600_000 }))).json?.code, "step_up_required");
});

test("409: an open upload, a hold, a lock that has not ended", async () => {
  const open = await env.send("POST", "/v1/snapshots", { source: "c" });
  assert.equal((await del(open.json?.id)).json?.code, "state_conflict");
  const { id } = await env.completed("d", { f: "1" });
  await env.rows("update emanet.snapshots set legal_hold = true where id = $1", [id]);
  assert.equal((await del(id)).json?.code, "legal_hold");
  const until = new Date(env.service.clock.now().getTime() + 1000);
  await env.rows("update emanet.snapshots set legal_hold = false, locked_until = $2 where id = $1", [id, until]);
  assert.equal((await del(id)).json?.code, "retention_locked");
  env.service.clock.advance(2000);
  assert.equal((await del(id)).status, 204);
});
