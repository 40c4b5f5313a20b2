import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { extendedHeader } from "../../archives/testing.ts";
import { makeVault } from "../../vaults/testing.ts";
import { endMark, member, type SnapshotJson, snapshotTest, tarOf } from "../testing.ts";

const env = await snapshotTest({ after });

interface Change {
  readonly change: string;
  readonly path: string;
  readonly path_base64?: string;
  readonly before: { readonly size_bytes: number } | null;
  readonly after: { readonly size_bytes: number } | null;
}

/** All changes, page by page. */
async function changesOf(id: string, query: string, limit = 1000): Promise<Change[]> {
  const all: Change[] = [];
  for (let cursor: unknown = ""; cursor !== null; ) {
    const more = cursor === "" ? "" : `&cursor=${cursor}`;
    const answer = await env.get(`/v1/snapshots/${id}/diff?limit=${limit}${query}${more}`);
    assert.equal(answer.status, 200, answer.body.toString());
    const page = answer.json as { data: Change[]; next_cursor: string | null };
    assert.ok(page.data.length <= limit);
    all.push(...page.data);
    cursor = page.next_cursor;
  }
  return all;
}

const line = ({ change, path, before, after: now }: Change) =>
  `${change} ${path} ${before?.size_bytes ?? "-"} ${now?.size_bytes ?? "-"}`;

test("200: what was added, removed and changed since another snapshot, directories before what is in them", async () => {
  const first = await env.completed("a", { "d/a": "1", "d/b": "1", "eski/x": "1", f: "1", same: "1" });
  const second = await env.completed("a", { "d/a": "1", "d/b": "22", "f/içinde": "1", same: "1", yeni: "1" });
  const forward = (await changesOf(second.id, `&from=${first.id}`)).map(line);
  assert.deepEqual(forward, [
    "changed d/b 1 2",
    "removed eski 1 -",
    "removed eski/x 1 -",
    "removed f 1 -",
    "added f - 1",
    "added f/içinde - 1",
    "added yeni - 1",
  ]);
  assert.deepEqual((await changesOf(second.id, "")).map(line), forward, "without from: the one before");
  const back = await changesOf(first.id, `&from=${second.id}`);
  assert.deepEqual(
    back.map(({ change, path }) => `${change} ${path}`),
    ["changed d/b", "added eski", "added eski/x", "removed f", "removed f/içinde", "added f", "removed yeni"],
  );
  assert.deepEqual(await changesOf(first.id, `&from=${first.id}`), []);
  const alone = await env.get(`/v1/snapshots/${first.id}/diff`);
  assert.equal(alone.json?.from_snapshot_id, null);
  assert.equal((alone.json?.data as Change[] | undefined)?.length, 7);
});

test("pages of any size give every change once, also of long paths and of names that are not UTF-8", async () => {
  const long = (end: string) => [extendedHeader({ path: `uzun/${"n".repeat(250)}${end}` }), member({ name: "s" }, end)];
  const parts = ["1", "2", "3"].flatMap(long);
  const odd = member({ name: Buffer.from([0x98, 0x2f, 0x99]) }, "1");
  const files = ["a", "uzun/a", "uzun/z", "z"].map((name) => member({ name }, name));
  const { id } = (await env.upload("source=b", Buffer.concat([...parts, odd, ...files, endMark]))).json as SnapshotJson;
  const all = await changesOf(id, "");
  assert.equal(all.length, 10);
  assert.equal(all.at(-1)?.path_base64, "mC+Z");
  for (const limit of [1, 2, 3, 7]) assert.deepEqual(await changesOf(id, "", limit), all, `${limit}`);
});

test("404: a snapshot that does not exist; 409: one that is not completed; 422: one of another vault; 400: another cursor", async () => {
  const { id } = await env.completed("c", { a: "1", b: "1" });
  const owner = await env.as({ role: "owner" });
  const vault = await makeVault(env.service, owner, "Ayrı");
  const other = (await env.upload(`source=c&vault_id=${vault}`, tarOf({ a: "1" }))).json as SnapshotJson;
  const queued = await env.send("POST", "/v1/snapshots", { source: "d" });
  const get = (target: string, auth = env.auth) =>
    env.service.send("GET", `/v1/snapshots/${target}`, { headers: { ...auth } });
  assert.equal((await get(`${randomUUID()}/diff`)).status, 404);
  assert.equal((await get(`${id}/diff?from=${randomUUID()}`)).status, 404);
  assert.equal((await get(`${id}/diff?from=${queued.json?.id}`)).json?.code, "state_conflict");
  assert.equal((await get(`${queued.json?.id}/diff`)).json?.code, "state_conflict");
  assert.equal((await get(`${id}/diff?from=${other.id}`)).json?.code, "validation_failed");
  const held = await env.as({ as: "client", kind: "api", vaultIds: [vault] });
  assert.equal((await get(`${other.id}/diff?from=${id}`, held)).status, 404);
  assert.equal((await get(`${id}/diff`, held)).status, 404);
  const { next_cursor: cursor } = (await get(`${id}/diff?limit=1`)).json ?? {};
  assert.equal((await get(`${id}/diff?from=${id}&cursor=${cursor}`)).json?.code, "invalid_cursor");
});
