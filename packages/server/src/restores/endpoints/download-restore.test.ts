import assert from "node:assert/strict";
import { after, test } from "node:test";
import { makeClient } from "../../accounts/testing.ts";
import { openDownload } from "../../downloads/testing.ts";
import { recheckMs } from "../../kernel/http/reply-stream.ts";
import { snapshotTest, tarOf } from "../../snapshots/testing.ts";
import { tokenFor } from "../../testing/accounts.ts";
import { makeVault } from "../../vaults/testing.ts";
import { download, manyRestores, readRestore, restored } from "../testing.ts";

const env = await snapshotTest({ after }, manyRestores);
const content = Buffer.from(Array.from({ length: 200_000 }, (_, i) => (i * 31 + (i >> 8)) & 0xff));
const snapshot = (await env.upload("source=download", tarOf({ "büyük.bak": content }))).json;
const deleted = await env.completed("deleted", { a: "1" });
const dayMs = 86_400_000;

test("200, 206, 304, 416 and HEAD, with what programs need to resume", async () => {
  const { id, download: facts } = await restored(env, { snapshot_id: snapshot?.id });
  const url = `/v1/restore/${id}/download`;
  const whole = await download(env, id);
  assert.deepEqual(
    ["content-type", "content-length", "accept-ranges", "etag", "cache-control", "content-disposition"].map(
      (name) => whole.headers[name],
    ),
    [
      ...["application/x-tar", String(facts?.size_bytes), "bytes", `"tar-${id}"`, "private, no-cache, no-transform"],
      `attachment; filename="${id}.tar"`,
    ],
  );
  const part = await env.get(url, { range: "bytes=1000-1999", "if-range": `"tar-${id}"` });
  assert.equal(part.status, 206);
  assert.ok(part.body.equals(whole.body.subarray(1000, 2000)));
  assert.equal((await env.get(url, { range: "bytes=1000-1999", "if-range": '"other"' })).status, 200);
  assert.equal((await env.get(url, { "if-none-match": `"tar-${id}"` })).status, 304);
  const beyond = await env.get(url, { range: `bytes=${facts?.size_bytes}-` });
  assert.deepEqual([beyond.status, beyond.headers["content-range"]], [416, `bytes */${facts?.size_bytes}`]);
  const head = await env.service.send("HEAD", url, { headers: env.auth });
  assert.deepEqual([head.status, head.headers["content-length"]], [200, String(facts?.size_bytes)]);
});

test("a stream is cut within ten seconds when its caller is removed, or its client is held to another vault", async () => {
  const total = 48 * 1024 * 1024;
  const zeros = await env.upload("source=long&path=zeros", Buffer.alloc(total), { "content-type": "text/plain" });
  const { id } = await restored(env, { snapshot_id: zeros.json?.id });
  const owner = await env.as({ role: "owner" });
  const gone = await tokenFor(env.service, { accountId: env.accountId, role: "viewer" });
  const scopes = ["restores:read"];
  const made = await makeClient(env.service, owner, { scopes, vault_ids: [String(zeros.json?.vault_id)] });
  const held = await env.as({ as: "client", kind: "api", clientId: made.client.id, scopes });
  const cut = await openDownload(env, `/v1/restore/${id}/download`, gone.auth);
  const alsoCut = await openDownload(env, `/v1/restore/${id}/download`, held);
  const other = await makeVault(env.service, owner);
  const changed = await env.service.send("PATCH", made.target, { json: { vault_ids: [other] }, headers: owner });
  assert.equal(changed.status, 200, changed.body.toString());
  assert.equal((await env.service.send("DELETE", `/v1/members/${gone.personId}`, { headers: owner })).status, 204);
  env.service.clock.advance(recheckMs);
  for (const stream of [cut, alsoCut]) {
    const { bytes, isWhole } = await stream.end();
    assert.ok(!isWhole && bytes < total);
  }
});

test("410 when its snapshot is deleted, 200 again when it is undeleted", async () => {
  const { id } = await restored(env, { snapshot_id: deleted.id });
  const headers = await env.as({ role: "owner" });
  assert.equal((await env.service.send("DELETE", `/v1/snapshots/${deleted.id}`, { headers })).status, 204);
  const answer = await download(env, id);
  assert.deepEqual([answer.status, answer.json?.code], [410, "download_expired"]);
  assert.equal((await readRestore(env, id)).download?.expired, true);
  assert.equal((await env.service.send("POST", `/v1/snapshots/${deleted.id}/undelete`, { headers })).status, 200);
  assert.equal((await download(env, id)).status, 200);
});

test("410 after seven days", async () => {
  const { id } = await restored(env, { snapshot_id: snapshot?.id });
  env.service.clock.advance(7 * dayMs - 60_000);
  assert.equal((await download(env, id)).status, 200);
  env.service.clock.advance(60_000);
  const answer = await download(env, id);
  assert.deepEqual([answer.status, answer.json?.code], [410, "download_expired"]);
});
