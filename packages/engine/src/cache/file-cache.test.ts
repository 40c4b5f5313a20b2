import assert from "node:assert/strict";
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { folderSource } from "../source/folder-source.ts";
import type { QuickStat } from "../source/source.ts";
import { SeededRandom } from "../testing/random-tree.ts";
import { scratch } from "../testing/test-environment.ts";
import { FileCache } from "./file-cache.ts";
import type { CachedFile } from "./file-record.ts";

const directory = Buffer.from("faturalar");

test("after any run the cache has exactly the files of that run, after files were added, changed, removed or moved", () => {
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    const random = new SeededRandom(seed);
    const cache = new FileCache(":memory:");
    const folders = [1, 2].map((inode) => ({ identity: identityOn(1, inode), files: new Map<string, number>() }));
    const paths = ["faturalar", "arşiv/faturalar", "yeni"].map((name) => Buffer.from(name));
    for (let run = 1; run <= 12; run++) {
      assert.equal(cache.begin(run === 1 ? null : String(run - 1), 7), run > 1);
      // Folders stay, swap paths, or go to a new path or to the old path of the other folder.
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

test("a directory without an identity is found by its path only", () => {
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

test("after a device got another number, its directories are found by their paths, and by their new identities when they move", () => {
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
  // Two disks, each with a directory of the same inode number.
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

test("a directory that is mounted at two paths is found at both", () => {
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

test("after a backup is rolled back, the cache has the files of the backup before", () => {
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
  assert.equal(cache.begin("1", 8), false, "another catalog id");
  assert.equal(cache.directory(directory).find(Buffer.from(nameOf(1))), null);
});

test("the next backup finds the nodes that a directory had in the last backup, and no others", () => {
  const cache = new FileCache(":memory:");
  const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const runs = [[one], [one], [two, one], [two, one], []];
  let before: readonly Buffer[] = [];
  for (const [run, nodes] of runs.entries()) {
    cache.begin(run === 0 ? null : String(run - 1), 7);
    const open = cache.directory(directory);
    for (const id of [one, two]) assert.equal(open.nodes.ordinalOf(id), before.includes(id) ? (id[0] ?? 0) : null);
    for (const id of nodes) open.nodes.add(id, id[0] ?? 0);
    open.finish();
    cache.commit(String(run), 7);
    before = nodes;
  }
});

test("nodes and digest are not used after a bit flipped on disk", (t) => {
  const file = path.join(scratch(t), "cache.sqlite");
  const id = Buffer.alloc(32, 1);
  const cache = new FileCache(file);
  cache.begin(null, 7);
  const made = cache.directory(directory);
  made.nodes.add(id, 5);
  made.summarizeIfPossible();
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
    assert.deepEqual([open.hasDigest, open.nodes.ordinalOf(id)], flipped ? [false, null] : [true, 5]);
    again.rollback();
    again.close();
  }
});

test("a file is unchanged only where every field of its quick stat is the same", (t) => {
  const folder = scratch(t);
  writeFileSync(path.join(folder, "a"), "one");
  mkdirSync(path.join(folder, "b"));
  const cache = new FileCache(":memory:");
  cache.begin(null, 7);
  const open = cache.directory(directory);
  for (const stat of quickStatsOf(folder)) open.put(cachedFile(stat, [3]));
  open.finish();
  cache.commit("1", 7);
  const same = (change: Partial<QuickStat>) => {
    cache.begin("1", 7);
    const [stat] = quickStatsOf(folder);
    assert.ok(stat);
    const { bytes, nameStart, nameEnd, inode, size, mtimeMs, ctimeMs, mode, uid, gid } = stat;
    const fields = { bytes, nameStart, nameEnd, inode, size, mtimeMs, ctimeMs, mode, uid, gid };
    const record = cache.directory(directory).find(bytes, nameStart, nameEnd);
    cache.rollback();
    return record?.isUnchanged({ ...fields, fullStat: () => stat.fullStat(), ...change });
  };
  assert.equal(same({}), true);
  for (const field of ["inode", "size", "mtimeMs", "ctimeMs", "mode", "uid", "gid"])
    assert.equal(same({ [field]: 1.5 }), false);
  chmodSync(path.join(folder, "a"), 0o600);
  assert.equal(same({}), false);
});

test("a directory is kept whole only where its digest is the same and no bit flipped on disk", (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  for (const name of ["a", "b", "ç"]) writeFileSync(path.join(from, name), name);
  const digestNow = () => {
    for (const event of folderSource(from).quickWalk?.() ?? [])
      if (event.type === "quick-stats" && event.isWholeDirectory) return event.digest();
    throw new Error("the walk found no directory of files");
  };
  const file = path.join(folder, "cache.sqlite");
  const cache = new FileCache(file);
  t.after(() => cache.close());
  cache.begin(null, 7);
  const made = cache.directory(directory);
  let ordinal = 900;
  for (const stat of quickStatsOf(from)) {
    made.put(cachedFile(stat, [ordinal, 3]));
    ordinal -= 100;
  }
  made.nodes.add(Buffer.alloc(32, 1), 5);
  made.summarizeIfPossible();
  made.finish();
  cache.commit("1", 7);
  const kept = () => {
    cache.begin("1", 7);
    const kept = cache.directory(directory).keepAll(digestNow());
    cache.rollback();
    if (kept === null) return null;
    const { files, size, ordinals } = kept.summary;
    return { files, size, ordinals, root: kept.root.ordinal };
  };
  const whole = { files: 3, size: 4, ordinals: [3, 700, 800, 900], root: 5 };
  assert.deepEqual(kept(), whole);
  for (const [column, at] of [
    ["summary", 2],
    ["summary", 33],
    ["nodes", 2],
  ] as const) {
    const database = new DatabaseSync(file);
    const read = database.prepare(`select ${column} as bytes from directories`);
    const update = database.prepare(`update directories set ${column} = ?`);
    const bytes = read.get()?.bytes as Uint8Array;
    const flipped = bytes.slice();
    flipped[at] = (flipped[at] ?? 0) ^ 4;
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

/** The quick stats of a folder. All are one object, valid until the next one. */
function* quickStatsOf(folder: string): Generator<QuickStat> {
  for (const event of folderSource(folder).quickWalk?.() ?? []) {
    if (event.type !== "quick-stats") continue;
    for (let i = 0; i < event.count; i++) yield event.file(i);
  }
}

function cachedFile(stat: QuickStat, ordinals: readonly number[]): CachedFile {
  const event = stat.fullStat();
  assert.ok(event.type === "file");
  const { stat: entryStat, size, changeStat } = event;
  const entry = { type: "file", ...entryStat, size, hash: Buffer.alloc(32), content: { kind: "empty" } } as const;
  return { entry, changeStat, ordinals };
}

/** Adds, changes and removes some files, in some runs many or none. They fill several parts. */
function edit(random: SeededRandom, files: Map<string, number>, run: number): void {
  const count = run === 1 ? 1500 : ([0, 0, 1, 1, 5, 300][random.below(6)] ?? 0);
  for (let i = 0; i < count; i++) files.set(nameOf(random.below(names)), run * 10_000 + i);
  for (const name of [...files.keys()]) if (random.below(run % 3 === 0 ? 500 : 100_000) === 0) files.delete(name);
  if (run === 10) files.clear();
}

/** One backup of a directory: the old records must be the files of the backup before. Unchanged files are kept, others put. */
function runOver(
  cache: FileCache,
  before: ReadonlyMap<string, number>,
  files: ReadonlyMap<string, number>,
  { path = directory, identity }: { readonly path?: Uint8Array | undefined; readonly identity?: Uint8Array } = {},
): void {
  const open = cache.directory(path, identity);
  // As in a backup, the walk is ahead of the tree.
  const ahead: (() => void)[] = [];
  for (let i = 0; i < names; i++) {
    const name = nameOf(i);
    const size = files.get(name);
    // A walk asks only for files that exist. Asking for some others too shows records that should be gone.
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

/** With the layout of `identityOf`. */
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
  const stat = {
    name: Buffer.from(name),
    mode: 0o644,
    uid: 1,
    gid: 2,
    mtimeSeconds: 3,
    mtimeNanos: 4,
    attributes: [],
  };
  const entry = { type: "file", ...stat, size, hash: Buffer.alloc(32), content: { kind: "empty" } } as const;
  return { entry, changeStat: { inode: 9n, ctimeNs: 1_000_000_001n }, ordinals: [1, 2, 300] };
}
