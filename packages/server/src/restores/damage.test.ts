/** Content that cannot be read: it is named exactly, and the rest comes back. */

import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { after, test } from "node:test";
import { sealFalseFrames } from "@emanet/engine/testing";
import { receive, seenIn, testSpool } from "../archives/testing.ts";
import { endMark, eventsOf, member, type SnapshotJson, snapshotTest } from "../snapshots/testing.ts";
import { listIn } from "../testing/lists.ts";
import { makeVault } from "../vaults/testing.ts";
import { download, manyRestores, restored } from "./testing.ts";

const env = await snapshotTest({ after }, manyRestores);
const { spool } = await testSpool(after);

function noise(bytes: number, seed: number): Buffer {
  const key = Buffer.alloc(16, seed);
  return createCipheriv("aes-128-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(bytes));
}

/** Files of a megabyte: each is in frames of its own. */
const count = 12;
const contents = Array.from({ length: count }, (_, at) => noise(1_200_000 + at, at + 1));
const names = contents.map((_, at) => `d/${String(at).padStart(2, "0")}.bin`);
const upload = await env.upload(
  "source=damage",
  Buffer.concat([
    ...contents.map((content, at) => member({ name: names[at] ?? "" }, content)),
    member({ name: "d/link of 5", type: "1", linkName: names[5] ?? "" }),
    member({ name: "z.txt" }, "tamam"),
    endMark,
  ]),
);
const made = { json: upload.json as SnapshotJson };

const vault =
  (await env.service.running.services?.vaults.open(env.accountId, String(made.json.vault_id))) ??
  assert.fail("no vault");

/** Changes the bytes that the store has for a part of a file: the frames with these plain bytes do not open any more. */
async function flip(kind: "data" | "tree", from: number, to: number): Promise<void> {
  for await (const { name } of vault.store.list(vault.names.packs)) {
    const bytes = Buffer.from(await vault.store.get(name));
    const isData = bytes.length > 1_000_000;
    if (isData !== (kind === "data")) continue;
    const step = isData ? 1000 : 20;
    for (let at = Math.floor(bytes.length * from); at < bytes.length * to; at += step)
      bytes[at] = (bytes[at] ?? 0) ^ 0xff;
    await vault.store.put(name, bytes);
  }
}

/** The files that no download sends, asked one by one. */
async function unreadable(): Promise<readonly string[]> {
  const bad: string[] = [];
  for (const name of [...names, "d/link of 5", "z.txt"]) {
    const path = `/v1/snapshots/${made.json.id}/files/${encodeURI(name)}`;
    // An answer that cannot be finished is cut.
    const status = await env.get(path).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status !== 200) bad.push(name);
  }
  return bad.sort();
}

test("exactly the files that cannot be read are named; the restore fails, or has the others", async () => {
  await env.until(async () =>
    (await env.get(`/v1/snapshots/${made.json.id}`)).json?.verified_at === null ? null : true,
  );
  await flip("data", 0.35, 0.5);
  const bad = await unreadable();
  assert.ok(bad.length > 0 && bad.length < count, `${bad.length} files`);
  const failed = await restored(env, { snapshot_id: made.json.id });
  assert.deepEqual([failed.status, failed.failure?.code, failed.download], ["failed", "content_damaged", null]);
  assert.deepEqual(failed.warnings.map(({ path }) => path).sort(), bad);
  assert.ok(failed.warnings.every(({ code }) => code === "content_damaged"));
  assert.deepEqual(failed.verification, {
    ...{ checked_files: count + 2 - bad.length, failed: bad.length, completed_at: failed.completed_at },
  });
  const { event, failure } = (await eventsOf(env)).at(-1) ?? {};
  assert.deepEqual([event, failure], ["restore.failed", "content_damaged"]);
  assert.equal((await download(env, failed.id)).status, 409);

  for (const format of ["tar", "zip"]) {
    const target = { kind: "download", format };
    const skipped = await restored(env, { snapshot_id: made.json.id, on_damage: "skip", target });
    assert.deepEqual([skipped.status, skipped.warning_count], ["completed", bad.length]);
    assert.equal(skipped.files_restored, count + 2 - bad.length);
    const { body } = await download(env, skipped.id);
    assert.equal(body.length, skipped.download?.size_bytes);
    if (format === "zip") continue;
    const archive = await receive(spool, body);
    const seen = Object.keys(await seenIn(archive));
    await archive.remove();
    for (const name of [...names, "d/link of 5", "z.txt"]) assert.equal(seen.includes(name), !bad.includes(name), name);
  }
});

test("content that was verified before is hashed again: a frame that opens with another content fails the restore", async () => {
  const body = Buffer.concat([member({ name: "e/a.bin" }, noise(1_500_000, 90)), endMark]);
  const { json } = await env.upload(
    `source=hashed&vault_id=${await makeVault(env.service, await env.as({ role: "owner" }))}`,
    body,
  );
  await env.until(async () => ((await env.get(`/v1/snapshots/${json?.id}`)).json?.verified_at === null ? null : true));
  const own = await env.service.running.services?.vaults.open(env.accountId, String(json?.vault_id));
  await sealFalseFrames(own ?? assert.fail("no vault"));
  const failed = await restored(env, { snapshot_id: json?.id });
  assert.deepEqual([failed.status, failed.failure?.code], ["failed", "content_damaged"]);
  assert.deepEqual(
    failed.warnings.map(({ path }) => path),
    ["e/a.bin"],
  );
});

test("warnings are listed page by page, in the order of the archive", async () => {
  const { id, warning_count: total } = await restored(env, { snapshot_id: made.json.id, on_damage: "skip" });
  const all: string[] = [];
  for (let next: string | null = `/v1/restore/${id}/warnings?limit=2`; next !== null; ) {
    const page: Awaited<ReturnType<typeof env.get>> = await env.get(next);
    all.push(...listIn<{ path: string }>(page, "data").map(({ path }) => path));
    const cursor = page.json?.next_cursor;
    next = typeof cursor === "string" ? `/v1/restore/${id}/warnings?limit=2&cursor=${cursor}` : null;
  }
  assert.equal(all.length, total);
  assert.deepEqual(all, [...all].sort());
});

test("a range of a restore that was completed before is refused before a wrong byte is sent", async () => {
  const { id } = await restored(env, { snapshot_id: made.json.id, paths: ["d/11.bin"] });
  assert.equal((await download(env, id, "bytes=600000-600999")).status, 206);
  await flip("data", 0.02, 1);
  env.service.running.services?.snapshots.readers.close();
  const answer = await download(env, id, "bytes=1000000-1000999");
  assert.equal(answer.status, 500);
});

test("a tree that cannot be read from its root fails the restore", async () => {
  const { json } = await env.upload("source=root", Buffer.concat([member({ name: "a" }, "1"), endMark]));
  await flip("tree", 0, 1);
  env.service.running.services?.snapshots.readers.close();
  const failed = await restored(env, { snapshot_id: json?.id });
  assert.deepEqual([failed.status, failed.failure?.code], ["failed", "content_damaged"]);
});
