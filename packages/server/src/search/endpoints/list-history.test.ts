import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { endMark, member, type SnapshotJson, snapshotTest, tarOf } from "../../snapshots/testing.ts";
import { tokenFor } from "../../testing/accounts.ts";
import { scaled } from "../../testing/scale.ts";
import { seededRandom } from "../../testing/seeded-random.ts";
import { makeVault } from "../../vaults/testing.ts";
import { versionsOf } from "../testing.ts";

const env = await snapshotTest({ after });
const owner = await env.as({ role: "owner" });
const act = (method: string, id: string, path = "") =>
  env.service.send(method, `/v1/snapshots/${id}${path}`, { headers: owner });

test("200: the versions of a path, the newest first, each with the snapshots that have it", async () => {
  const nights = ["1", "1", "22", null, "22", "333"];
  const made: SnapshotJson[] = [];
  for (const text of nights) made.push(await env.completed("a", { ...(text && { "d/f": text }), other: "x" }));
  const versions = await versionsOf(env, "a", "d/f");
  assert.deepEqual(
    versions.map(({ size_bytes: size, first_snapshot: first, last_snapshot: last, is_current: isCurrent }) => [
      ...[size, made.findIndex(({ id }) => id === first.id), made.findIndex(({ id }) => id === last.id), isCurrent],
    ]),
    [
      [3, 5, 5, true],
      [2, 4, 4, false],
      [2, 2, 2, false],
      [1, 0, 1, false],
    ],
  );
  assert.equal(versions[1]?.hash, versions[2]?.hash);
  assert.deepEqual(await versionsOf(env, "a", "d/f", 1), versions, "page by page");
  const [directory] = await versionsOf(env, "a", "d");
  assert.equal(directory?.type, "directory");
});

test("a path is bytes; a path that no snapshot has is an empty list", async () => {
  await env.upload("source=b", Buffer.concat([member({ name: Buffer.from([0x98, 0x2f, 0x99]) }, "1"), endMark]));
  assert.equal((await versionsOf(env, "b", "%98/%99")).length, 1);
  for (const path of ["%97/%99", "%98/", "/%98/%99", "x"]) assert.deepEqual(await versionsOf(env, "b", path), [], path);
});

test("404: a source of another account or vault, an unknown one; 400: a cursor of another path; 422: no path", async () => {
  const get = (query: string, headers = env.auth) =>
    env.service.send("GET", `/v1/files/history?${query}`, { headers: { ...headers } });
  const vault = await makeVault(env.service, owner, "Ayrı");
  const { json } = await env.upload(`source=c&vault_id=${vault}`, tarOf({ f: "1" }));
  const { source } = json as SnapshotJson;
  assert.equal((await get(`source=${source.id}&path=f`)).status, 200);
  assert.equal((await get(`source=c&vault_id=${vault}&path=f`)).status, 200);
  const stranger = (await tokenFor(env.service, { as: "client", kind: "api" })).auth;
  const held = await env.as({ as: "client", kind: "api", vaultIds: [randomUUID()] });
  for (const auth of [stranger, held]) assert.equal((await get(`source=${source.id}&path=f`, auth)).status, 404);
  assert.equal((await get(`source=${randomUUID()}&path=f`)).status, 404);
  assert.equal((await get("source=c&path=f")).status, 404, "not in the default vault");
  assert.equal((await get("source=a")).status, 422);
  assert.equal((await get("source=a&path=")).status, 422);
  const { next_cursor: cursor } = (await get("source=a&path=d/f&limit=1")).json ?? {};
  assert.equal((await get(`source=a&path=d/g&cursor=${cursor}`)).json?.code, "invalid_cursor");
});

/** Snapshots of a source by id, with their files; those of deleted ones too. */
interface Model {
  readonly snapshots: { readonly id: string; readonly files: Readonly<Record<string, string>>; isDeleted: boolean }[];
}

const paths = ["f", "d/f", "d/g", "e", "e/f"];

/** Files of a night: a few are changed, added or removed. `e` is now a file, now a folder. */
function nextNight(
  random: ReturnType<typeof seededRandom>,
  files: Readonly<Record<string, string>>,
): Record<string, string> {
  const next = { ...files };
  for (const path of paths) {
    const draw = random.integer(6);
    if (draw === 0) delete next[path];
    if (draw === 1) next[path] = "x".repeat(1 + random.integer(3));
  }
  if (next.e !== undefined) delete next["e/f"];
  return { ...next, always: "1" };
}

/** What history must show of a path: runs of equal content over the snapshots that are there, the newest first. */
function expected({ snapshots }: Model, path: string) {
  const runs: { size: number; first: string; last: string }[] = [];
  let previous: string | undefined;
  for (const { id, files, isDeleted } of snapshots) {
    if (isDeleted) continue;
    const now = files[path];
    const run = runs.at(-1);
    if (now !== undefined && now === previous && run !== undefined) run.last = id;
    else if (now !== undefined) runs.push({ size: now.length, first: id, last: id });
    previous = now;
  }
  return runs.toReversed();
}

async function assertLikeModel(model: Model, source: string): Promise<void> {
  for (const path of paths.filter((one) => one !== "e")) {
    const shown = await versionsOf(env, source, path);
    const runs = shown.map((version) => ({
      ...{ size: version.size_bytes, first: version.first_snapshot.id, last: version.last_snapshot.id },
    }));
    assert.deepEqual(runs, expected(model, path), path);
  }
}

test("whatever order snapshots are completed, deleted and undeleted in, history is that of the snapshots that are there", async () => {
  const random = seededRandom(5);
  const model: Model = { snapshots: [] };
  const send = (id: string, name: string, text: string) =>
    env.service.send("PUT", `/v1/snapshots/${id}/files/${name}`, {
      body: text,
      headers: { ...env.auth, "content-type": "application/octet-stream", "x-emanet-mtime": "2026-01-01T00:00:00Z" },
    });
  let files: Record<string, string> = { always: "1" };
  const rounds = scaled(4, 40);
  for (let round = 0; round < rounds; round++) {
    // Three uploads at once, completed in another order than they were begun.
    const open: { id: string; files: Record<string, string> }[] = [];
    for (let count = 0; count < 3; count++) {
      files = nextNight(random, files);
      const made = await env.send("POST", "/v1/snapshots", { source: "model" });
      open.push({ id: String(made.json?.id), files });
    }
    model.snapshots.push(...open.map((one) => ({ ...one, isDeleted: false })));
    for (const one of [open[2], open[0], open[1]]) {
      assert.ok(one !== undefined);
      for (const [name, text] of Object.entries(one.files)) await send(one.id, name, text);
      assert.equal((await env.send("POST", `/v1/snapshots/${one.id}/complete`)).json?.status, "completed");
    }
    for (const snapshot of model.snapshots) {
      if (random.integer(4) > 0) continue;
      const answer = snapshot.isDeleted
        ? await act("POST", snapshot.id, "/undelete")
        : await act("DELETE", snapshot.id);
      assert.ok(answer.status < 300, answer.body.toString());
      snapshot.isDeleted = !snapshot.isDeleted;
    }
    await assertLikeModel(model, "model");
  }
  for (const snapshot of model.snapshots) if (!snapshot.isDeleted) await act("DELETE", snapshot.id);
  for (const path of paths) assert.deepEqual(await versionsOf(env, "model", path), []);
});
