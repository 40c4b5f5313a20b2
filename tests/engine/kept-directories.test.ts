import assert from "node:assert/strict";
import {
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { FileCache } from "../../packages/engine/src/cache/file-cache.ts";
import { Bitmap } from "../../packages/engine/src/format/bitmap.ts";
import { SeededRandom } from "../../packages/engine/src/testing/random-tree.ts";
import { scaled } from "../../packages/engine/src/testing/scale.ts";
import { describeTree, openTestEnvironment, scratch } from "../../packages/engine/src/testing/test-environment.ts";

/** Enough for a tree of several nodes. */
const filesAtFirst = 400;

const changes: readonly ((folder: string, random: SeededRandom) => void)[] = [
  () => {
    // Nothing changes.
  },
  (folder, random) => rmSync(path.join(folder, pick(folder, random, "first"))),
  (folder, random) => rmSync(path.join(folder, pick(folder, random, "middle"))),
  (folder, random) => rmSync(path.join(folder, pick(folder, random, "last"))),
  (folder, random) => write(path.join(folder, pick(folder, random, "first")), random.bytes(70)),
  (folder, random) => write(path.join(folder, pick(folder, random, "middle")), random.bytes(80)),
  (folder, random) => write(path.join(folder, pick(folder, random, "last")), random.bytes(90)),
  (folder, random) => write(path.join(folder, ` ${random.below(100)}`), random.bytes(30)),
  (folder, random) => write(path.join(folder, `f${random.below(10)}5 new`), random.bytes(30)),
  (folder, random) => write(path.join(folder, `z${random.below(100)}`), random.bytes(30)),
  (folder, random) =>
    renameSync(path.join(folder, pick(folder, random, "middle")), path.join(folder, `y${random.below(99)}`)),
  (folder) => replaced(path.join(folder, "f300 link"), (at) => symlinkSync("f1", at)),
  (folder) => rmSync(path.join(folder, "f300 link"), { force: true }),
  // After all files, which are unchanged.
  (folder) => replaced(path.join(folder, "zz link"), (at) => symlinkSync("f1", at)),
  (folder) => replaced(path.join(folder, "zz link"), (at) => mkdirSync(at)),
  (folder) => rmSync(path.join(folder, "zz link"), { recursive: true, force: true }),
  (folder, random) =>
    replaced(path.join(folder, "f200 below"), (at) => {
      mkdirSync(at);
      write(path.join(at, "a"), random.bytes(40));
    }),
  (folder) => rmSync(path.join(folder, "f200 below"), { recursive: true, force: true }),
  (folder) => {
    for (const name of readdirSync(folder)) rmSync(path.join(folder, name), { recursive: true });
  },
  (folder, random) => fill(folder, random, filesAtFirst),
];

for (const [where, below] of [
  ["the root itself", ""],
  ["a folder below it", "faturalar"],
] as const) {
  test(`after any change in a directory of cached files, the snapshot has the change: ${where}`, async (t) => {
    const folder = scratch(t);
    const from = path.join(folder, "from");
    const changing = path.join(from, below);
    mkdirSync(changing, { recursive: true });
    const random = new SeededRandom(71);
    fill(changing, random, filesAtFirst);
    const env = await openTestEnvironment(new MemoryStore());
    const cache = new FileCache(":memory:");
    t.after(() => cache.close());
    const order = [...changes.keys(), ...Array.from({ length: scaled(8, 40) }, () => random.below(changes.length))];
    for (const [run, index] of order.entries()) {
      changes[index]?.(changing, random);
      settleFolders(from, changing);
      const { snapshot } = await env.backup(from, { cache });
      const to = path.join(folder, `to ${run}`);
      assert.deepEqual((await env.restore(snapshot, to)).failures, []);
      assert.deepEqual(describeTree(to), describeTree(from), `after change ${index} in run ${run}`);
      env.ctx.advance(1000);
      const again = await env.backup(from, { cache });
      assert.deepEqual(again.snapshot.rootId, snapshot.rootId, `the same once more after run ${run}`);
      assert.deepEqual([again.snapshot.storedBytes, again.unchanged], [0, snapshot.files]);
      assert.deepEqual([again.snapshot.files, again.snapshot.size], [snapshot.files, snapshot.size]);
      // Prune keeps what the snapshot reaches.
      assert.deepEqual([...Bitmap.decode(again.snapshot.reach)], [...Bitmap.decode(snapshot.reach)]);
      env.ctx.advance(1000);
    }
  });
}

/** What happens to folders, and how many files are new or changed after it. */
const moves: readonly (readonly [what: string, read: number, move: (from: string) => void])[] = [
  ["a parent is renamed", 0, (from) => renameSync(path.join(from, "müşteri"), path.join(from, "müşteri (eski)"))],
  [
    "it goes into another one",
    0,
    (from) => renameSync(path.join(from, "müşteri (eski)"), path.join(from, "b/müşteri")),
  ],
  [
    "two swap their names",
    0,
    (from) => {
      renameSync(path.join(from, "b"), path.join(from, "c"));
      renameSync(path.join(from, "a"), path.join(from, "b"));
      renameSync(path.join(from, "c"), path.join(from, "a"));
    },
  ],
  [
    "folders rotate, and the first is new",
    5,
    (from) => {
      renameSync(path.join(from, "b"), path.join(from, "c"));
      renameSync(path.join(from, "a"), path.join(from, "b"));
      mkdirSync(path.join(from, "a"));
      fill(path.join(from, "a"), new SeededRandom(3), 5);
    },
  ],
  [
    "one is renamed while a file in it changes and another one goes",
    1,
    (from) => {
      renameSync(path.join(from, "c"), path.join(from, "d"));
      write(path.join(from, "d/f150"), Buffer.from("another"));
      rmSync(path.join(from, "d/f7"));
    },
  ],
  [
    "one is copied over, and another one takes its name",
    filesAtFirst - 1,
    (from) => {
      cpSync(path.join(from, "d"), path.join(from, "e"), { recursive: true, preserveTimestamps: true });
      rmSync(path.join(from, "d"), { recursive: true });
      renameSync(path.join(from, "a"), path.join(from, "d"));
    },
  ],
];

test("the files of a folder that was moved are not read again, and the snapshot has every change", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  if (lstatSync(from, { bigint: true }).birthtimeNs === 0n) {
    t.skip("this file system has no birth times");
    return;
  }
  const random = new SeededRandom(72);
  for (const below of ["a", "b", "müşteri/2024", "müşteri/2025/faturalar"]) {
    mkdirSync(path.join(from, below), { recursive: true });
    fill(path.join(from, below), random, filesAtFirst);
  }
  const env = await openTestEnvironment(new MemoryStore());
  const cache = new FileCache(":memory:");
  t.after(() => cache.close());
  await env.backup(from, { cache });
  for (const [what, read, move] of moves) {
    env.ctx.advance(1000);
    move(from);
    settleFolders(from, path.join(from, "b"));
    const { snapshot, unchanged } = await env.backup(from, { cache });
    assert.equal(snapshot.files - unchanged, read, what);
    const to = path.join(folder, what);
    assert.deepEqual((await env.restore(snapshot, to)).failures, []);
    assert.deepEqual(describeTree(to), describeTree(from), what);
    env.ctx.advance(1000);
    const again = await env.backup(from, { cache });
    assert.deepEqual([again.snapshot.rootId, again.unchanged], [snapshot.rootId, snapshot.files], `again: ${what}`);
    assert.deepEqual([...Bitmap.decode(again.snapshot.reach)], [...Bitmap.decode(snapshot.reach)]);
  }
});

function fill(folder: string, random: SeededRandom, count: number): void {
  for (let i = 0; i < count; i++) write(path.join(folder, `f${i}`), random.bytes(10 + random.below(40)));
}

/** Sets a time of whole seconds, so that trees compare exactly. Other files stay unchanged. */
function write(file: string, bytes: Buffer): void {
  writeFileSync(file, bytes);
  utimesSync(file, 1_500_000_000, 1_500_000_000);
}

function settleFolders(...folders: readonly string[]): void {
  const entries = folders.flatMap((folder) => readdirSync(folder, { withFileTypes: true }));
  const below = entries
    .filter((entry) => entry.isDirectory())
    .map(({ parentPath, name }) => path.join(parentPath, name));
  for (const folder of [...below, ...folders]) utimesSync(folder, 1_600_000_000, 1_600_000_000);
}

function pick(folder: string, random: SeededRandom, where: "first" | "middle" | "last"): string {
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  if (files.length === 0) fill(folder, random, 3);
  const names = files.length === 0 ? ["f0", "f1", "f2"] : files.map(({ name }) => name).sort();
  const at = where === "first" ? 0 : where === "last" ? names.length - 1 : random.below(names.length);
  return names[at] ?? "";
}

function replaced(at: string, make: (at: string) => void): void {
  rmSync(at, { recursive: true, force: true });
  make(at);
}
