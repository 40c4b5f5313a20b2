import assert from "node:assert/strict";
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { folderSource } from "../source/folder-source.ts";
import type { GlimpsedFile } from "../source/source.ts";
import { SeededRandom } from "../testing/random-tree.ts";
import { scratch } from "../testing/test-environment.ts";
import type { CachedFile } from "./cached-directory.ts";
import { FileCache } from "./file-cache.ts";

const directory = Buffer.from("faturalar");

test("after any run the cache knows exactly the files of that run, whatever was added, changed, dropped or moved", () => {
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    const random = new SeededRandom(seed);
    const cache = new FileCache(":memory:");
    const folders = [1, 2].map((inode) => ({ identity: identityOn(1, inode), files: new Map<string, number>() }));
    const paths = ["faturalar", "arşiv/faturalar", "yeni"].map((name) => Buffer.from(name));
    for (let run = 1; run <= 12; run++) {
      assert.equal(cache.begin(run === 1 ? null : String(run - 1), 7), run > 1);
      // They stay, swap places, or go where nobody was or where the other one came from.
      paths.push(...paths.splice(random.below(3), 1), ...paths.splice(0, random.below(2)));
      for (const [i, { identity, files }] of folders.entries()) {
        const before = new Map(files);
        edit(random, files, run);
        runOver(cache, before, files, { path: paths[i], identity });
      }
      cache.commit(String(run), 7);
    }
    cache.close();
  }
});

test("a directory that cannot be told by its identity is known at its path alone", () => {
  const cache = new FileCache(":memory:");
  const [files, none] = [new Map([[nameOf(1), 1]]), new Map<string, number>()];
  cache.begin(null, 7);
  runOver(cache, none, files);
  cache.commit("1", 7);
  cache.begin("1", 7);
  runOver(cache, none, files, { path: Buffer.from("elsewhere") });
  runOver(cache, files, files);
  cache.rollback();
  cache.close();
});

test("a device that gets another number loses nothing: its directories are known by their paths, and move under the new one", () => {
  const cache = new FileCache(":memory:");
  const [one, two, none] = [new Map([[nameOf(1), 1]]), new Map([[nameOf(2), 2]]), new Map<string, number>()];
  const [a, b, c] = ["a", "b", "c"].map((name) => Buffer.from(name));
  let base: string | null = null;
  const run = (...visits: Parameters<typeof runOver>[]) => {
    cache.begin(base, 7);
    for (const visit of visits) runOver(...visit);
    base = `${base ?? ""}+`;
    cache.commit(base, 7);
  };
  // Two disks, with the same number for a directory each.
  run(
    [cache, none, one, { path: a, identity: identityOn(1, 5) }],
    [cache, none, two, { path: b, identity: identityOn(2, 5) }],
  );
  run(
    [cache, one, one, { path: a, identity: identityOn(2, 5) }],
    [cache, two, two, { path: b, identity: identityOn(1, 5) }],
  );
  run(
    [cache, one, one, { path: c, identity: identityOn(2, 5) }],
    [cache, two, two, { path: b, identity: identityOn(1, 5) }],
  );
  cache.close();
});

test("a directory that is seen at two paths is known at both", () => {
  const cache = new FileCache(":memory:");
  const [files, none] = [new Map([[nameOf(1), 1]]), new Map<string, number>()];
  const places = ["a", "b"].map((name) => ({ path: Buffer.from(name), identity: identityOn(1, 5) }));
  for (const [run, before] of [none, files, files].entries()) {
    cache.begin(run === 0 ? null : String(run), 7);
    for (const place of places) runOver(cache, before, files, place);
    cache.commit(String(run + 1), 7);
  }
  cache.close();
});

test("a run that is rolled back leaves what was remembered before", () => {
  const cache = new FileCache(":memory:");
  cache.begin(null, 7);
  const [first, second] = [new Map([[nameOf(1), 1]]), new Map([[nameOf(3), 2]])];
  runOver(cache, new Map(), first);
  cache.commit("1", 7);
  cache.begin("1", 7);
  runOver(cache, first, second);
  cache.rollback();
  assert.equal(cache.begin("1", 7), true);
  assert.equal(cache.directory(directory).find(Buffer.from(nameOf(1)))?.size, 1);
  cache.rollback();
  assert.equal(cache.begin("1", 8), false, "another generation");
  assert.equal(cache.directory(directory).find(Buffer.from(nameOf(1))), null);
});

test("a directory's nodes are known in the next run, and no longer when it did not have them", () => {
  const cache = new FileCache(":memory:");
  const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const runs = [[one], [one], [two, one], [two, one], []];
  let before: readonly Buffer[] = [];
  for (const [run, nodes] of runs.entries()) {
    cache.begin(run === 0 ? null : String(run - 1), 7);
    const open = cache.directory(directory);
    for (const id of [one, two]) assert.equal(open.nodeOrdinal(id), before.includes(id) ? (id[0] ?? 0) : null);
    for (const id of nodes) open.putNode(id, id[0] ?? 0);
    open.finish();
    cache.commit(String(run), 7);
    before = nodes;
  }
});

test("nodes in which a bit has flipped on disk are not known any more", (t) => {
  const file = path.join(scratch(t), "cache.sqlite");
  const id = Buffer.alloc(32, 1);
  const cache = new FileCache(file);
  cache.begin(null, 7);
  const made = cache.directory(directory);
  made.putNode(id, 5);
  made.endPlain();
  made.finish();
  cache.commit("1", 7);
  cache.close();
  for (const flipped of [false, true]) {
    if (flipped) {
      const database = new DatabaseSync(file);
      const nodes = database.prepare("select nodes from directories").get()?.nodes as Uint8Array;
      nodes[7] = (nodes[7] ?? 0) ^ 4;
      database.prepare("update directories set nodes = ?").run(nodes);
      database.close();
    }
    const again = new FileCache(file);
    again.begin("1", 7);
    const open = again.directory(directory);
    assert.deepEqual([open.isPlain, open.nodeOrdinal(id)], flipped ? [false, null] : [true, 5]);
    again.rollback();
    again.close();
  }
});

test("a file is unchanged for a glimpse only with every mark the same", (t) => {
  const folder = scratch(t);
  writeFileSync(path.join(folder, "a"), "one");
  mkdirSync(path.join(folder, "b"));
  const cache = new FileCache(":memory:");
  cache.begin(null, 7);
  const open = cache.directory(directory);
  for (const seen of glimpsesOf(folder)) {
    const event = seen.look();
    assert.ok(event.type === "file");
    const { facts, size, marks } = event;
    const entry = { type: "file", ...facts, size, hash: Buffer.alloc(32), content: { kind: "empty" } } as const;
    open.put({ entry, marks, ordinals: [3] });
  }
  open.finish();
  cache.commit("1", 7);
  const same = (change: Partial<GlimpsedFile>) => {
    cache.begin("1", 7);
    const [seen] = glimpsesOf(folder);
    assert.ok(seen);
    const { bytes, nameStart, nameEnd, inode, size, mtimeMs, ctimeMs, mode, uid, gid } = seen;
    const facts = {
      type: "glimpse",
      bytes,
      nameStart,
      nameEnd,
      inode,
      size,
      mtimeMs,
      ctimeMs,
      mode,
      uid,
      gid,
    } as const;
    const found = cache.directory(directory).find(bytes, nameStart, nameEnd);
    cache.rollback();
    return found?.looksLike({ ...facts, look: () => seen.look(), ...change });
  };
  assert.equal(same({}), true);
  for (const mark of ["inode", "size", "mtimeMs", "ctimeMs", "mode", "uid", "gid"])
    assert.equal(same({ [mark]: 1.5 }), false);
  chmodSync(path.join(folder, "a"), 0o600);
  assert.equal(same({}), false);
});

test("all files are kept at once only where the roll is the same and nothing has flipped on disk", (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  for (const name of ["a", "b", "ç"]) writeFileSync(path.join(from, name), name);
  const rollNow = () => {
    for (const event of folderSource(from).glimpses?.() ?? []) if (event.type === "roll") return event.digest();
    throw new Error("no roll was called");
  };
  const file = path.join(folder, "cache.sqlite");
  const cache = new FileCache(file);
  t.after(() => cache.close());
  cache.begin(null, 7);
  const made = cache.directory(directory);
  let ordinal = 900;
  for (const seen of glimpsesOf(from)) {
    const event = seen.look();
    assert.ok(event.type === "file");
    const { facts, size, marks } = event;
    const entry = { type: "file", ...facts, size, hash: Buffer.alloc(32), content: { kind: "empty" } } as const;
    made.put({ entry, marks, ordinals: [ordinal, 3] });
    ordinal -= 100;
  }
  made.putNode(Buffer.alloc(32, 1), 5);
  made.endPlain();
  made.finish();
  cache.commit("1", 7);
  const kept = () => {
    cache.begin("1", 7);
    const sum = cache.directory(directory).keepRoll(rollNow());
    cache.rollback();
    return sum === null ? null : { ...sum, ordinals: [...sum.ordinals] };
  };
  const whole = { files: 3, size: 4, ordinals: [3, 700, 800, 900] };
  assert.deepEqual(kept(), whole);
  for (const column of ["roll", "totals"]) {
    const database = new DatabaseSync(file);
    const read = database.prepare(`select ${column} as bytes from directories`);
    const update = database.prepare(`update directories set ${column} = ?`);
    const bytes = read.get()?.bytes as Uint8Array;
    const flipped = bytes.slice();
    flipped[2] = (flipped[2] ?? 0) ^ 4;
    update.run(flipped);
    assert.equal(kept(), null, column);
    update.run(bytes);
    database.close();
  }
  assert.deepEqual(kept(), whole);
  const changes = [
    () => chmodSync(path.join(from, "b"), 0o600),
    () => writeFileSync(path.join(from, "b"), "other"),
    () => renameSync(path.join(from, "b"), path.join(from, "d")),
    () => rmSync(path.join(from, "d")),
  ];
  for (const change of changes) {
    change();
    assert.equal(kept(), null, String(change));
  }
});

/** The files that a quick walk glimpses; one object stands for all, so one file only. */
function* glimpsesOf(folder: string): Generator<GlimpsedFile> {
  for (const event of folderSource(folder).glimpses?.() ?? []) {
    if (event.type === "roll") yield* event.files();
    else if (event.type === "glimpse") yield event;
  }
}

/** Adds, changes and drops some files; now and then many or none. Enough of them for several parts. */
function edit(random: SeededRandom, files: Map<string, number>, run: number): void {
  const count = run === 1 ? 1500 : ([0, 0, 1, 1, 5, 300][random.below(6)] ?? 0);
  for (let i = 0; i < count; i++) files.set(nameOf(random.below(names)), run * 10_000 + i);
  for (const name of [...files.keys()]) if (random.below(run % 3 === 0 ? 500 : 100_000) === 0) files.delete(name);
  if (run === 10) files.clear();
}

/** One run over a directory: what is remembered must be what was there before. What is unchanged is kept, the rest put. */
function runOver(
  cache: FileCache,
  before: ReadonlyMap<string, number>,
  files: ReadonlyMap<string, number>,
  { path = directory, identity }: { readonly path?: Uint8Array | undefined; readonly identity?: Uint8Array } = {},
): void {
  const open = cache.directory(path, identity);
  // The walk is ahead of the tree.
  const ahead: (() => void)[] = [];
  for (let i = 0; i < names; i++) {
    const name = nameOf(i);
    const size = files.get(name);
    // A walk asks for what it meets; asking for the others too finds what should be forgotten.
    if (size === undefined && i % 2 === 0) continue;
    const found = open.find(Buffer.from(name));
    assert.equal(found?.size, before.get(name), name);
    if (size === undefined) continue;
    const kept = found?.size === size ? found.copy() : null;
    assert.equal(kept?.entry.size ?? size, size);
    ahead.push(() => (kept === null ? open.put(fileOf(name, size)) : open.keep(kept)));
    if (ahead.length > 20) for (const step of ahead.splice(0, 15)) step();
  }
  for (const step of ahead) step();
  open.finish();
}

const names = 3000;

/** As a folder's would be. */
function identityOn(device: number, inode: number): Buffer {
  const identity = Buffer.alloc(24, 1);
  identity.writeUInt32LE(device, 0);
  identity.writeUInt32LE(inode, 8);
  return identity;
}

function nameOf(i: number): string {
  return `dosya-${String(i).padStart(5, "0")}`;
}

function fileOf(name: string, size: number): CachedFile {
  const facts = {
    name: Buffer.from(name),
    mode: 0o644,
    uid: 1,
    gid: 2,
    mtimeSeconds: 3,
    mtimeNanos: 4,
    attributes: [],
  };
  const entry = { type: "file", ...facts, size, hash: Buffer.alloc(32), content: { kind: "empty" } } as const;
  return { entry, marks: { inode: 9n, ctimeNs: 1_000_000_001n }, ordinals: [1, 2, 300] };
}
