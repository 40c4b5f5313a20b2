/** Nodes of directories that cannot be read: their directories and no others are named, and the rest comes back. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { decodeRecipe, entriesOf, findEntry, type Reference } from "@emanet/engine";
import { receive, seenIn, testSpool } from "../archives/testing.ts";
import { openTree } from "../snapshots/index.ts";
import { type SnapshotJson, snapshotTest, tarOf } from "../snapshots/testing.ts";
import { download, manyRestores, restored } from "./testing.ts";

const env = await snapshotTest({ after }, manyRestores);
const { spool } = await testSpool(after);
const services = env.service.running.services ?? assert.fail("no services");

type Files = Readonly<Record<string, string>>;

async function backUp(source: string, files: Files): Promise<SnapshotJson> {
  const answer = await env.upload(`source=${source}`, tarOf(files));
  assert.equal(answer.status, 201, answer.body.toString());
  return answer.json as SnapshotJson;
}

const open = ({ id, vault_id: vault }: SnapshotJson) =>
  openTree(services, { id, account_id: env.accountId, vault_id: String(vault) });

/** The root of a directory's nodes. */
async function nodeOf(snapshot: SnapshotJson, path: string): Promise<Reference> {
  const { reader, root } = await open(snapshot);
  let at: Reference = root.root;
  for (const name of path.split("/")) {
    const entry = await findEntry(reader.frames, at, Buffer.from(name));
    at = entry?.type === "directory" ? entry.root : assert.fail(`${path} is no directory`);
  }
  return at;
}

/** Changes a byte of the frame that has this node. Undo puts it back. */
async function damage(snapshot: SnapshotJson, { ordinal }: Reference): Promise<() => Promise<void>> {
  const { vault } = await open(snapshot);
  const [item] = await vault.catalog.itemsByOrdinal([ordinal]);
  const [run] = decodeRecipe(item?.recipe ?? assert.fail("no such node"));
  const [row] = await vault.catalog.frames([run?.kind === "stored" ? run.frame : 0]);
  assert.ok(row !== undefined && row !== null, "no such frame");
  const name = vault.names.pack(row.pack);
  const flip = async () => {
    const bytes = Buffer.from(await vault.store.get(name));
    const at = row.offset + row.length - 20;
    bytes[at] = (bytes[at] ?? 0) ^ 0xff;
    await vault.store.put(name, bytes);
    services.snapshots.readers.close();
  };
  await flip();
  return flip;
}

async function namesIn(restoreId: string): Promise<readonly string[]> {
  const archive = await receive(spool, (await download(env, restoreId)).body);
  const names = Object.keys(await seenIn(archive));
  await archive.remove();
  // Files have an ending, directories do not.
  return names.filter((name) => name.includes(".")).sort();
}

/** Two nights: the second writes the nodes above what changed again. Only the first night's frame has the others. */
async function twoNights(source: string, files: Files, changed: Files): Promise<SnapshotJson> {
  return (await bothNights(source, files, changed)).second;
}

async function bothNights(source: string, files: Files, changed: Files) {
  const first = await backUp(source, files);
  return { first, second: await backUp(source, { ...files, ...changed }) };
}

/**
 * Each test has names of its own, so that no snapshot shares nodes with another test's. The files in `bad` are empty: else their
 * node would be written again when a small file beside which they are stored changes.
 */
const filesOf = (source: string): Files => ({
  ...Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`bad/${source} ${at}.xml`, ""])),
  ...{ "good/1.xml": `${source} bir`, "good/2.xml": `${source} iki` },
});

for (const format of ["tar", "zip"])
  test(`a directory that cannot be read is named, and the rest comes, as ${format}`, async () => {
    const snapshot = await twoNights(format, filesOf(format), { "good/2.xml": "değişti", "z.txt": "yeni" });
    const undo = await damage(snapshot, await nodeOf(snapshot, "bad"));
    const target = { kind: "download", format };
    const failed = await restored(env, { snapshot_id: snapshot.id, target });
    assert.deepEqual([failed.status, failed.failure?.code], ["failed", "content_damaged"]);
    const named = [{ path: "bad", code: "entries_unreadable" }];
    assert.deepEqual(failed.warnings, named);
    const skipped = await restored(env, { snapshot_id: snapshot.id, on_damage: "skip", target });
    assert.deepEqual([skipped.status, skipped.warnings], ["completed", named]);
    assert.equal(skipped.files_restored, 3);
    const { body } = await download(env, skipped.id);
    assert.equal(body.length, skipped.download?.size_bytes);
    if (format === "tar") assert.deepEqual(await namesIn(skipped.id), ["good/1.xml", "good/2.xml", "z.txt"]);
    // It is frozen: what is readable again later does not come into the archive.
    await undo();
    assert.ok((await download(env, skipped.id)).body.equals(body));
  });

test("of a directory with many nodes, the entries of the readable ones come, and it is named once", async () => {
  const many = Object.fromEntries(
    Array.from({ length: 1500 }, (_, at) => [`many/${String(at).padStart(4, "0")}.xml`, ""]),
  );
  const changed = { "many/0700.xml": "değişti", "z.txt": "yeni" };
  const { first, second: snapshot } = await bothNights("many", many, changed);
  const { reader } = await open(snapshot);
  const all = (await Array.fromAsync(entriesOf(reader.frames, await nodeOf(snapshot, "many")))).length;
  assert.equal(all, 1500);
  // The second night has written the nodes above the changed file again, and no others.
  await damage(first, await nodeOf(first, "many"));
  const skipped = await restored(env, { snapshot_id: snapshot.id, on_damage: "skip" });
  assert.deepEqual([skipped.status, skipped.warnings], ["completed", [{ path: "many", code: "entries_unreadable" }]]);
  const names = await namesIn(skipped.id);
  assert.ok(names.includes("many/0700.xml") && names.includes("z.txt"));
  assert.ok(names.length > 2 && names.length < all, `${names.length} files`);
});

test("paths below a directory that cannot be read are accepted and named; other paths come", async () => {
  const snapshot = await twoNights("paths", filesOf("paths"), { "good/1.xml": "yeni" });
  const undo = await damage(snapshot, await nodeOf(snapshot, "bad"));
  const wanted = { snapshot_id: snapshot.id, paths: ["bad/paths 7.xml", "good", "bad/none"] };
  const named = ["bad/none", "bad/paths 7.xml"].map((path) => ({ path, code: "entries_unreadable" }));
  const failed = await restored(env, wanted);
  assert.deepEqual([failed.status, failed.failure?.code, failed.warnings], ["failed", "content_damaged", named]);
  const skipped = await restored(env, { ...wanted, on_damage: "skip" });
  assert.deepEqual([skipped.status, skipped.warnings], ["completed", named]);
  assert.deepEqual(await namesIn(skipped.id), ["good/1.xml", "good/2.xml"]);
  await undo();
  const { body } = await download(env, skipped.id);
  assert.equal(body.length, skipped.download?.size_bytes);
});

test("with names that a zip escapes, a node that cannot be read does not matter to the names in others", async () => {
  const files = { ...filesOf("names"), "good/a:b": "iki nokta", "good/son ": "boşluk" };
  const snapshot = await twoNights("names", files, { "good/2.xml": "yeni" });
  await damage(snapshot, await nodeOf(snapshot, "bad"));
  const target = { kind: "download", format: "zip" };
  const skipped = await restored(env, { snapshot_id: snapshot.id, on_damage: "skip", target });
  assert.deepEqual([skipped.status, skipped.warning_count], ["completed", 1]);
  assert.equal((await download(env, skipped.id)).body.length, skipped.download?.size_bytes);
});

test("the frame is marked: the next backup of the source stores the directory again", async () => {
  const old = await twoNights("heal", filesOf("heal"), { "z.txt": "yeni" });
  await damage(old, await nodeOf(old, "bad"));
  assert.equal((await restored(env, { snapshot_id: old.id })).status, "failed");
  const next = await backUp("heal", { ...filesOf("heal"), "z.txt": "bir daha" });
  const whole = await restored(env, { snapshot_id: next.id });
  assert.deepEqual([whole.status, whole.warnings], ["completed", []]);
});
