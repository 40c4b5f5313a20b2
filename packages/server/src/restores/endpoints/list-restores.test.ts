import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { snapshotTest } from "../../snapshots/testing.ts";
import { listIn } from "../../testing/lists.ts";
import { manyRestores, restored } from "../testing.ts";

const env = await snapshotTest({ after }, manyRestores);
const first = await env.completed("one", { a: "1" });
const second = await env.completed("two", { b: "2" });
const made = [
  await restored(env, { snapshot_id: first.id }),
  await restored(env, { snapshot_id: second.id }),
  await restored(env, { snapshot_id: first.id }),
];

const ids = async (query: string, headers: Readonly<Record<string, string>> = env.auth) => {
  const answer = await env.service.send("GET", `/v1/restore${query}`, { headers });
  assert.equal(answer.status, 200, answer.body.toString());
  return listIn<{ id: string }>(answer, "data").map(({ id }) => id);
};

test("newest first, by status and by snapshot, page by page", async () => {
  const [one, two, three] = made.map(({ id }) => id);
  assert.deepEqual(await ids(""), [three, two, one]);
  assert.deepEqual(await ids(`?snapshot_id=${first.id}`), [three, one]);
  assert.deepEqual(await ids("?status=failed"), []);
  const page = await env.get("/v1/restore?limit=2");
  assert.deepEqual(await ids(`?limit=2&cursor=${page.json?.next_cursor}`), [one]);
  assert.equal((await env.get(`/v1/restore?status=failed&cursor=${page.json?.next_cursor}`)).status, 400);
});

test("a client that is held to vaults sees those of its vaults alone", async () => {
  const held = (vaultIds: string[]) => env.as({ as: "client", kind: "api", vaultIds });
  assert.deepEqual(await ids("", await held([randomUUID()])), []);
  assert.equal((await ids("", await held([String(first.vault_id)]))).length, 3);
});
