import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { snapshotTest } from "../../snapshots/testing.ts";
import { manyRestores, restored } from "../testing.ts";

const env = await snapshotTest({ after }, manyRestores);

test("200: none for a restore that read everything; 404 without a restore. Damaged ones are in damage.test.ts", async () => {
  const { id } = await restored(env, { snapshot_id: (await env.completed("warnings", { a: "1" })).id });
  const answer = await env.get(`/v1/restore/${id}/warnings`);
  assert.deepEqual([answer.status, answer.json?.data, answer.json?.has_more], [200, [], false]);
  assert.equal((await env.get(`/v1/restore/${randomUUID()}/warnings`)).status, 404);
});

test("names that are not UTF-8 are shown as base64 too", async () => {
  const { id } = await restored(env, { snapshot_id: (await env.completed("names", { a: "1" })).id });
  await env.rows(
    `insert into emanet.restore_warnings (restore_id, account_id, number, path, code)
     values ($1, $2, 0, '\\x6698', 'content_damaged')`,
    [id, env.accountId],
  );
  const answer = await env.get(`/v1/restore/${id}/warnings`);
  assert.deepEqual(answer.json?.data, [{ path: "f\ufffd", path_base64: "Zpg=", code: "content_damaged" }]);
});
