import assert from "node:assert/strict";
import { after, test } from "node:test";
import { backTo, manyRestores, restored } from "../../restores/testing.ts";
import { auditOf, snapshotTest } from "../../snapshots/testing.ts";
import { cookieOf } from "../testing.ts";

const env = await snapshotTest({ after }, manyRestores);
const snapshot = await env.completed("link", { a: "merhaba".repeat(1000) });
const linkOf = async (id: string, wanted = {}) => {
  const headers = await env.as({ as: "client", kind: "api", ...wanted });
  const answer = await env.service.send("POST", `/v1/restore/${id}/download-link`, { headers });
  return { ...answer, path: answer.status === 201 ? new URL(String(answer.json?.url)).pathname : "" };
};

test("201: the link downloads the archive once, and continues it by ranges with its cookie", async () => {
  const { id } = await restored(env, { snapshot_id: snapshot.id });
  const whole = await env.get(`/v1/restore/${id}/download`);
  const { path } = await linkOf(id);
  const first = await env.service.send("GET", path, { headers: { range: "bytes=0-999" } });
  assert.deepEqual([first.status, first.headers["content-type"]], [206, "application/x-tar"]);
  assert.equal((await env.service.send("GET", path)).status, 410);
  const rest = await env.service.send("GET", path, { headers: { ...cookieOf(first), range: "bytes=1000-" } });
  assert.ok(Buffer.concat([first.body, rest.body]).equals(whole.body));
  const audit = await auditOf(env);
  assert.ok(audit.includes("download_link.created by client") && audit.includes("download_link.used by anonymous"));
});

test("409 before it is completed; 403 without restores:read; 410 once it has expired, also by an older link", async () => {
  const { id: open } = await restored(env, { snapshot_id: snapshot.id });
  await backTo(env, open, 1);
  assert.equal((await linkOf(open)).status, 409);
  const { id } = await restored(env, { snapshot_id: snapshot.id });
  assert.equal((await linkOf(id, { scopes: ["snapshots:read"] })).status, 403);
  const { path } = await linkOf(id);
  const cookie = cookieOf(await env.service.send("GET", path));
  await env.rows("update emanet.restores set expires_at = $2 where id = $1", [id, env.service.clock.now()]);
  assert.equal((await linkOf(id)).status, 410);
  assert.equal((await env.service.send("GET", path, { headers: cookie })).status, 410);
});
