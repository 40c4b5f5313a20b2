import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import {
  chmod,
  type FileHandle,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  rename,
  rm,
  rmdir,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { describe, type TestContext, test } from "node:test";
import { type FileStoreOptions, openFileStore } from "./file.ts";
import { rejectsWith, seededBytes } from "./testing/bodies.ts";
import { conformance } from "./testing/conformance.ts";

for (const sync of ["full", "none"] as const) {
  conformance(`file, sync ${sync}`, async () => {
    const root = await mkdtemp(path.join(os.tmpdir(), "emanet-file-"));
    return {
      open: () => openFileStore({ root, sync, now: Date.now, randomBytes }),
      close: () => rm(root, { recursive: true }),
    };
  });
}

describe("file store: opening", () => {
  test("a folder with other files is refused and not changed", async (t) => {
    const root = await temporaryRoot(t);
    await writeFile(path.join(root, "letter.txt"), "mine");
    await rejectsWith("unsupported", openFileStore(settings(root)));
    assert.deepEqual(await readdir(root), ["letter.txt"]);
  });

  test("if the store must already exist, an empty folder (an unmounted disk) is refused", async (t) => {
    const root = await temporaryRoot(t);
    await rejectsWith("unsupported", openFileStore({ ...settings(root), create: false }));
    await openFileStore(settings(root));
    await openFileStore({ ...settings(root), create: false });
  });

  test("a store of an unknown layout is refused", async (t) => {
    const root = await temporaryRoot(t);
    await writeFile(path.join(root, ".layout"), "emanet file store, layout 2\n");
    await rejectsWith("unsupported", openFileStore(settings(root)));
  });

  test("several processes may open a new store at once", async (t) => {
    const root = path.join(await temporaryRoot(t), "not", "yet", "there");
    const stores = await Promise.all(Array.from({ length: 8 }, () => openFileStore(settings(root))));
    await Promise.all(stores.map((store, n) => store.put(`n${n}`, Uint8Array.of(n))));
    for (const [n] of stores.entries()) assert.deepEqual(await stores[7 - n]?.stat(`n${n}`), { size: 1 });
  });

  test("a store that another process makes and writes to while this one opens it is not refused", async (t) => {
    const root = path.join(await temporaryRoot(t), "new");
    let others = 0;
    await watchSyncs(t, async () => {
      // The first sync comes after the mark was looked for and before the folder is.
      if (++others > 1) return "";
      const other = await openFileStore({ ...settings(root), sync: "none" });
      await other.put("n", Uint8Array.of(1));
      return "";
    });
    const store = await openFileStore(settings(root));
    assert.deepEqual(await store.stat("n"), { size: 1 });
  });

  test("leftovers of a killed process go when they are ours and a week old; all else stays", async (t) => {
    const root = await temporaryRoot(t);
    await openFileStore(settings(root));
    const now = 1_800_000_000_000;
    const leftovers: [string, number][] = [
      [`${"0".repeat(32)}.part`, 7 * 24 + 1],
      [`${"1".repeat(32)}.part`, 7 * 24 - 1],
      ["notes.part", 2500],
      [`${"2".repeat(32)}.old`, 2500],
    ];
    for (const [name, hours] of leftovers) {
      const file = path.join(root, ".tmp", name);
      await writeFile(file, "half");
      await utimes(file, now / 1000, now / 1000 - hours * 3600);
    }
    let time = now;
    const store = await openFileStore({ ...settings(root), now: () => time });
    const kept = leftovers.slice(1).map(([name]) => name);
    assert.deepEqual((await readdir(path.join(root, ".tmp"))).sort(), kept.sort());
    // The same without a new start.
    await store.removeLeftovers();
    assert.deepEqual((await readdir(path.join(root, ".tmp"))).sort(), kept.sort());
    time += 2 * 3_600_000;
    await store.removeLeftovers();
    assert.deepEqual((await readdir(path.join(root, ".tmp"))).sort(), kept.slice(1).sort());
  });
});

describe("file store: files", () => {
  test("files are 0600 and folders 0700, whatever the umask allows", async (t) => {
    const root = path.join(await temporaryRoot(t), "store");
    const before = process.umask(0);
    t.after(() => process.umask(before));
    const store = await openFileStore(settings(root));
    await store.put("vaults/v1/packs/4f1c", seededBytes(1, 10));
    await store.put("vaults/v1/packs/4f1d", seededBytes(1, 10), { ifAbsent: true });
    for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
      const { mode } = await lstat(path.join(entry.parentPath, entry.name));
      assert.equal(mode & 0o777, entry.isDirectory() ? 0o700 : 0o600, entry.name);
    }
    assert.equal((await lstat(root)).mode & 0o777, 0o700);
  });

  test("`a` and `a/b`, and a folder called like a shard's start, are objects side by side", async (t) => {
    const store = await openFileStore(settings(await temporaryRoot(t)));
    const names = ["a", "a/b", "a/b/c", "ab", "ab/ab", "ab/abc"];
    for (const name of names) await store.put(name, Buffer.from(name), { ifAbsent: true });
    const seen: string[] = [];
    for await (const { name } of store.list("")) seen.push(name);
    assert.deepEqual(seen, names);
  });

  test("a link in an object's place is not followed, and other files in the folders are not listed", async (t) => {
    const root = await temporaryRoot(t);
    const store = await openFileStore(settings(root));
    await store.put("x/4f01", seededBytes(1, 10));
    const shard = path.join(root, "x", "=4f");
    await symlink("/etc/hostname", path.join(shard, "4f02"));
    await writeFile(path.join(shard, "4f03~"), "");
    await mkdir(path.join(root, "Lost"));
    assert.equal(await store.stat("x/4f02"), null);
    await rejectsWith("denied", store.get("x/4f02"));
    const seen: string[] = [];
    for await (const { name } of store.list("")) seen.push(name);
    assert.deepEqual(seen, ["x/4f01"]);
  });

  test("a folder removed by hand is made again", async (t) => {
    const root = await temporaryRoot(t);
    const store = await openFileStore(settings(root));
    await store.put("x/y/4f01", seededBytes(1, 10));
    await rm(path.join(root, "x"), { recursive: true });
    await store.put("x/y/4f01", seededBytes(2, 10), { ifAbsent: true });
    assert.deepEqual(await store.stat("x/y/4f01"), { size: 10 });
  });

  test("while its disk is away, nothing is missing, listed, deleted or written; then all is as before", async (t) => {
    const root = path.join(await temporaryRoot(t), "disk");
    const store = await openFileStore(settings(root));
    await store.put("a/b", seededBytes(1, 10));
    await rename(root, `${root}.away`);
    for (const place of ["no folder", "an empty one"]) {
      if (place === "an empty one") await mkdir(root);
      for (const call of [
        () => store.get("a/b"),
        () => store.stat("a/b"),
        () => Array.fromAsync(store.list("")),
        () => store.delete("a/b"),
        () => store.put("c", seededBytes(2, 10)),
        () => store.removeLeftovers(),
      ])
        await rejectsWith("unavailable", call());
    }
    assert.deepEqual(await readdir(root), []);
    await rmdir(root);
    await rename(`${root}.away`, root);
    assert.deepEqual(await Array.fromAsync(store.list("")), [{ name: "a/b", size: 10 }]);
  });

  test("a temporary name that is taken is replaced by another", async (t) => {
    const root = await temporaryRoot(t);
    const draws = [7, 7, 7, 8, 9];
    const draw = (count: number) => new Uint8Array(count).fill(draws.length > 1 ? (draws.shift() ?? 0) : 9);
    const store = await openFileStore({ ...settings(root), randomBytes: draw });
    await writeFile(path.join(root, ".tmp", `${"07".repeat(16)}.part`), "another's");
    await store.put("x", seededBytes(1, 10));
    assert.deepEqual(await readdir(path.join(root, ".tmp")), [`${"07".repeat(16)}.part`]);
  });

  test("a folder without the right to write is `denied`", {
    skip: process.getuid?.() === 0 ? "root may all" : false,
  }, async (t) => {
    const root = await temporaryRoot(t);
    const store = await openFileStore(settings(root));
    await chmod(path.join(root, ".tmp"), 0o500);
    await rejectsWith("denied", store.put("x", seededBytes(1, 10)));
    await chmod(path.join(root, ".tmp"), 0o700);
  });
});

describe("file store: syncing", () => {
  test("put syncs the file before its name shows, and the folder after; delete syncs the folder", async (t) => {
    const root = await temporaryRoot(t);
    const store = await openFileStore(settings(root));
    await store.put("x/4f00", seededBytes(1, 10));
    const target = path.join(root, "x", "=4f", "4f01");
    const syncs = await watchSyncs(
      t,
      async (handle) => `${await kindOf(handle)}, ${existsSync(target) ? "there" : "absent"}`,
    );
    for (const options of [{}, { ifAbsent: true }]) {
      await store.put("x/4f01", seededBytes(1, 10), options);
      assert.deepEqual(syncs.splice(0), ["file, absent", "folder, there"]);
      await store.delete("x/4f01");
      assert.deepEqual(syncs.splice(0), ["folder, absent"]);
    }
  });

  test("a new folder's parent is synced before the file is put into it", async (t) => {
    const root = await temporaryRoot(t);
    const store = await openFileStore(settings(root));
    const syncs = await watchSyncs(t, kindOf);
    await store.put("x/y/4f01", seededBytes(1, 10));
    assert.deepEqual(syncs.splice(0), ["file", "folder", "folder", "folder", "folder"]);
    await store.put("x/y/4f02", seededBytes(1, 10));
    assert.deepEqual(syncs, ["file", "folder"]);
  });

  test("`exists` is said only after the folder was synced", async (t) => {
    const store = await openFileStore(settings(await temporaryRoot(t)));
    await store.put("x", seededBytes(1, 10));
    const syncs = await watchSyncs(t, kindOf);
    await rejectsWith("exists", store.put("x", seededBytes(1, 10), { ifAbsent: true }));
    assert.deepEqual(syncs, ["folder"]);
  });

  test("a sync that fails fails the put: nothing is seen and no temporary file stays", async (t) => {
    const root = await temporaryRoot(t);
    const store = await openFileStore(settings(root));
    await watchSyncs(t, async () => {
      throw Object.assign(new Error("broken disk"), { code: "EIO" });
    });
    await rejectsWith("unavailable", store.put("x", seededBytes(1, 10)));
    assert.equal(await store.stat("x"), null);
    assert.deepEqual(await readdir(path.join(root, ".tmp")), []);
  });

  test("with sync `none` nothing is synced", async (t) => {
    const store = await openFileStore({ ...settings(await temporaryRoot(t)), sync: "none" });
    const syncs = await watchSyncs(t, kindOf);
    await store.put("x/y", seededBytes(1, 10));
    await store.delete("x/y");
    assert.deepEqual(syncs, []);
  });
});

function settings(root: string): FileStoreOptions {
  return { root, now: Date.now, randomBytes };
}

async function temporaryRoot(t: TestContext): Promise<string> {
  const root = await mkdtemp(path.join(os.tmpdir(), "emanet-file-"));
  t.after(() => rm(root, { recursive: true }));
  return root;
}

/** Records what `look` says at each fsync, in order, until the test ends. */
async function watchSyncs(t: TestContext, look: (handle: FileHandle) => Promise<string>): Promise<string[]> {
  const seen: string[] = [];
  const handle = await open(os.tmpdir());
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const real = prototype.sync;
  t.mock.method(prototype, "sync", async function (this: FileHandle) {
    seen.push(await look(this));
    await real.call(this);
  });
  return seen;
}

async function kindOf(handle: FileHandle): Promise<string> {
  return (await handle.stat()).isDirectory() ? "folder" : "file";
}
