import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { snapshotTest } from "../../snapshots/testing.ts";
import { manyRestores, restored } from "../testing.ts";

const env = await snapshotTest({ after }, manyRestores);
const snapshot = await env.completed("get", { a: "merhaba" });

test("200: what was asked for, what was read, and until when it can be downloaded", async () => {
  const restore = await restored(env, { snapshot_id: snapshot.id });
  const now = env.service.clock.now().getTime();
  assert.deepEqual(
    [restore.status, restore.bytes_total, restore.bytes_restored, restore.files_total, restore.files_restored],
    ["completed", 7, 7, 1, 1],
  );
  assert.deepEqual(
    [restore.paths, restore.path_count, restore.warnings, restore.failure, restore.created_by],
    [null, null, [], null, { kind: "client", id: (restore.created_by as { id: string }).id }],
  );
  assert.deepEqual(restore.verification, { checked_files: 1, failed: 0, completed_at: restore.completed_at });
  const { expires_at: expires, expired } = restore.download as unknown as { expires_at: string; expired: boolean };
  assert.equal(expired, false);
  assert.ok(Math.abs(new Date(expires).getTime() - now - 7 * 86_400_000) < 60_000);
});

test("304 with its ETag; 404: one that is not there, and one of a vault that the client does not have", async () => {
  const { id } = await restored(env, { snapshot_id: snapshot.id });
  const { etag = "" } = (await env.get(`/v1/restore/${id}`)).headers;
  assert.equal((await env.get(`/v1/restore/${id}`, { "if-none-match": etag })).status, 304);
  assert.equal((await env.get(`/v1/restore/${randomUUID()}`)).status, 404);
  const held = await env.as({ as: "client", kind: "api", vaultIds: [randomUUID()] });
  for (const path of ["", "/download", "/warnings"])
    assert.equal((await env.service.send("GET", `/v1/restore/${id}${path}`, { headers: held })).status, 404, path);
  for (const path of ["/cancel", "/download-link"])
    assert.equal((await env.service.send("POST", `/v1/restore/${id}${path}`, { headers: held })).status, 404, path);
});
