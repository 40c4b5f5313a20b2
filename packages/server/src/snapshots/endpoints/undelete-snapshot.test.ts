import assert from "node:assert/strict";
import { after, test } from "node:test";
import { snapshotTest } from "../testing.ts";

const env = await snapshotTest({ after });
const owner = await env.as({ role: "owner" });
const send = (method: string, id: unknown, path = "", headers = owner) =>
  env.service.send(method, `/v1/snapshots/${id}${path}`, { headers });

test("200: within 72 hours a deleted snapshot is again what it was, with its content", async () => {
  const { id } = await env.completed("a", { f: "1" });
  const failed = await env.upload("source=b", Buffer.from("no tar".repeat(100)));
  for (const [one, status] of [
    [id, "completed"],
    [failed.json?.snapshot_id, "failed"],
  ]) {
    await send("DELETE", one);
    const back = await send("POST", one, "/undelete");
    assert.deepEqual([back.status, back.json?.status], [200, status], back.body.toString());
  }
  assert.equal((await env.get(`/v1/snapshots/${id}/files/f`)).body.toString(), "1");
});

test("404: one that is not deleted, and after 72 hours", async () => {
  const { id } = await env.completed("c", { f: "1" });
  assert.equal((await send("POST", id, "/undelete")).status, 404);
  await send("DELETE", id);
  await env.rows("update emanet.snapshots set deleted_at = deleted_at - interval '72 hours' where id = $1", [id]);
  assert.equal((await send("POST", id, "/undelete")).status, 404);
});

test("403: a program", async () => {
  const { id } = await env.completed("d", { f: "1" });
  await send("DELETE", id);
  assert.equal((await send("POST", id, "/undelete", env.auth)).json?.code, "insufficient_scope");
});
