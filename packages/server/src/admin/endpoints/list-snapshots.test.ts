import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { snapshotTest, tarOf } from "../../snapshots/testing.ts";
import { tokenFor } from "../../testing/accounts.ts";
import { listIn } from "../../testing/lists.ts";

const env = await snapshotTest({ after });
const staff = await tokenFor(env.service, { as: "staff" });
const made = await env.upload(
  "source=gizli-kaynak&label=gizli-etiket&external_reference=gizli-no",
  tarOf({ gizli: "1" }),
);
const failed = await env.upload("source=gizli-kaynak", Buffer.from("gizli".repeat(200)));
const other = await tokenFor(env.service, { as: "client", kind: "api" });
const theirs = await env.upload("source=x", tarOf({ f: "1" }), other.auth);

async function list(query = "") {
  const answer = await env.service.send("GET", `/v1/admin/snapshots?limit=100${query}`, { headers: staff.auth });
  assert.equal(answer.status, 200, answer.body.toString());
  assert.doesNotMatch(answer.body.toString(), /gizli/);
  return listIn<Readonly<Record<string, unknown>>>(answer, "data");
}

const idsOf = async (query: string) => (await list(query)).map(({ id }) => id);

test("the snapshots of all accounts, newest first, without anything that customers wrote", async () => {
  assert.deepEqual(await idsOf(""), [theirs.json?.id, failed.json?.snapshot_id, made.json?.id]);
  const [, second, first] = await list();
  const writer = { kind: "client", id: env.clientId, agent_id: null };
  assert.deepEqual([first?.account_id, first?.status, first?.failure], [env.accountId, "completed", null]);
  assert.deepEqual([first?.writer, first?.stored_bytes, first?.file_count], [writer, made.json?.stored_bytes, 1]);
  assert.deepEqual([second?.status, second?.failure, second?.size_bytes], ["failed", "invalid_archive", null]);
});

test("filters: account, state, failure, writer; deleted ones are not listed", async () => {
  assert.deepEqual(await idsOf(`&account_id=${other.accountId}`), [theirs.json?.id]);
  assert.deepEqual(await idsOf("&status=failed"), [failed.json?.snapshot_id]);
  assert.deepEqual(await idsOf("&failure=invalid_archive"), [failed.json?.snapshot_id]);
  assert.deepEqual(await idsOf("&failure=verification_failed"), []);
  assert.deepEqual(await idsOf(`&writer_id=${other.clientId}`), [theirs.json?.id]);
  assert.deepEqual(await idsOf(`&writer_id=${randomUUID()}`), []);
  const owner = await env.as({ role: "owner" });
  await env.service.send("DELETE", `/v1/snapshots/${failed.json?.snapshot_id}`, { headers: owner });
  assert.deepEqual(await idsOf("&status=failed"), []);
});
