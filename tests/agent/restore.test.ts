/** Restores into a folder that has files already, on a local repository: what is replaced, kept, deleted, and never touched. */

import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { SeededRandom } from "../../packages/engine/src/testing/random-tree.ts";
import { assertSameTree, settleTimes } from "../../packages/engine/src/testing/test-environment.ts";
import type { Cleanup } from "../../packages/server/src/testing/database.ts";
import { localAgent, writeTree } from "./testing.ts";

async function backedUp(t: Cleanup, files: Readonly<Record<string, string | Buffer>>) {
  const { agent, repo } = await localAgent(t);
  const from = writeTree(path.join(agent.folder, "from"), files);
  settleTimes(from);
  await agent.json("backup", from, "--threads", "0", ...repo);
  const target = path.join(agent.folder, "to");
  const restore = async (...more: readonly string[]) => {
    const args = ["restore", "latest", "--target", target, "--threads", "0", ...repo, ...more, "--json"];
    const ran = await agent.run(args);
    return { ...ran, files: Number(ran.last.files), kept: Number(ran.last.kept_files) };
  };
  return { agent, repo, from, target, restore };
}

const files = { "a.txt": "eski a", "b.txt": "eski b", "klasör/c.txt": "eski c" };

describe("a folder that has files", () => {
  test("is refused without --overwrite, and nothing in it changes", async (t) => {
    const { target, restore } = await backedUp(t, files);
    writeTree(target, { "a.txt": "benim" });
    const { code, stderr } = await restore();
    assert.equal(code, 1);
    assert.match(stderr, /--overwrite/);
    assert.deepEqual([readdirSync(target), readFileSync(path.join(target, "a.txt"), "utf8")], [["a.txt"], "benim"]);
  });

  test("always: every file is the snapshot's; if-changed: those with the same size and time stay", async (t) => {
    for (const mode of ["always", "if-changed"]) {
      const { from, target, restore } = await backedUp(t, files);
      writeTree(target, { "a.txt": "yeni a", "b.txt": "çok daha uzun" });
      // The same size and time as the snapshot's, with other bytes: only `always` sees it.
      utimesSync(path.join(target, "a.txt"), 1_500_000_000, 1_500_000_000);
      const { code, kept } = await restore("--overwrite", mode);
      assert.equal(code, 0);
      assert.equal(kept, mode === "always" ? 0 : 1);
      assert.equal(readFileSync(path.join(target, "a.txt"), "utf8"), mode === "always" ? "eski a" : "yeni a");
      if (mode === "always") assertSameTree(from, target);
    }
  });

  test("always: a file with the snapshot's bytes stays the same file and gets its mode and time; names of one file stay names of one", async (t) => {
    const { agent, repo, from, target } = await backedUp(t, {
      "a.txt": "bir",
      "boş.txt": "",
      "d.bin": Buffer.alloc(50_000, 7),
    });
    linkSync(path.join(from, "d.bin"), path.join(from, "e.bin"));
    linkSync(path.join(from, "d.bin"), path.join(from, "f.bin"));
    await agent.json("backup", from, "--threads", "0", ...repo);
    const restore = async () =>
      (
        await agent.json("restore", "latest", "--target", target, "--overwrite", "always", "--threads", "0", ...repo)
      ).at(-1);
    const inode = (name: string) => lstatSync(path.join(target, name)).ino;
    const names = ["a.txt", "boş.txt", "d.bin", "e.bin", "f.bin"];
    await restore();
    const before = names.map(inode);
    chmodSync(path.join(target, "a.txt"), 0o600);
    utimesSync(path.join(target, "boş.txt"), 1_000_000_000, 1_000_000_000);
    const { kept_files: kept } = (await restore()) ?? {};
    assert.deepEqual([names.map(inode), kept], [before, 3]);
    assertSameTree(from, target);
    // Other bytes of the same length, in all three names.
    writeFileSync(path.join(target, "d.bin"), Buffer.alloc(50_000, 8));
    await restore();
    assertSameTree(from, target);
    assert.deepEqual([inode("e.bin"), inode("f.bin")], [inode("d.bin"), inode("d.bin")]);
    assert.deepEqual(readdirSync(target).sort(), names.sort(), "no drafts are left");
  });

  test("if-newer keeps what is newer here; never keeps everything that is here", async (t) => {
    const { target, restore } = await backedUp(t, files);
    writeTree(target, { "a.txt": "daha yeni", "b.txt": "daha eski" });
    utimesSync(path.join(target, "b.txt"), 1_000_000_000, 1_000_000_000);
    await restore("--overwrite", "never");
    const read = (name: string) => readFileSync(path.join(target, name), "utf8");
    assert.deepEqual([read("a.txt"), read("b.txt"), read("klasör/c.txt")], ["daha yeni", "daha eski", "eski c"]);
    await restore("--overwrite", "if-newer");
    assert.deepEqual([read("a.txt"), read("b.txt")], ["daha yeni", "eski b"]);
  });

  test("blocks that are there already are not fetched, and the file is whole", async (t) => {
    const bytes = Buffer.from(new SeededRandom(5).bytes(3_000_000));
    const { from, target, restore } = await backedUp(t, { "dump.bak": bytes, boşluklu: Buffer.alloc(400_000) });
    const changed = Buffer.from(bytes);
    changed.fill(7, 1_000_000, 1_050_000);
    writeTree(target, {
      "dump.bak": Buffer.concat([changed, Buffer.from("fazla")]),
      boşluklu: Buffer.alloc(500_000, 1),
    });
    const { code, last } = await restore("--overwrite", "always");
    assert.equal(code, 0);
    assert.ok(Number(last.reused_bytes) > 2_500_000, JSON.stringify(last));
    assertSameTree(from, target);
  });

  test("--delete removes what the snapshot does not have, and nothing that is left out by a pattern", async (t) => {
    const { target, restore } = await backedUp(t, files);
    const outside = writeTree(path.join(target, "..", "dışarı"), { "kalsın.txt": "x" });
    writeTree(target, {
      "fazla.txt": "x",
      "fazla klasör/d.txt": "x",
      "klasör/fazla.txt": "x",
      "notlar/benim.txt": "x",
    });
    symlinkSync(outside, path.join(target, "bağ"));
    const args = ["--overwrite", "always", "--delete", "--exclude", "/notlar"];
    const trial = await restore(...args, "--dry-run");
    assert.equal(trial.last.deleted, 4);
    assert.ok(existsSync(path.join(target, "fazla.txt")), "a dry run changes nothing");
    const { last } = await restore(...args);
    assert.equal(last.deleted, 4);
    assert.deepEqual(readdirSync(target).sort(), ["a.txt", "b.txt", "klasör", "notlar"]);
    assert.deepEqual(readdirSync(path.join(target, "klasör")), ["c.txt"]);
    assert.ok(existsSync(path.join(outside, "kalsın.txt")), "what a link points to stays");
  });

  test("--delete replaces a folder by a file or a link, and a file or a link by a folder; without it each is reported", async (t) => {
    const { agent, repo, from, target, restore } = await backedUp(t, {
      ...{ dosya: "bir dosya", "klasör/alt/c.txt": "eski c", "bağ klasörü/d.txt": "eski d" },
    });
    symlinkSync("dosya", path.join(from, "bağ"));
    settleTimes(from);
    await agent.json("backup", from, "--threads", "0", ...repo);
    const outside = writeTree(path.join(target, "..", "dışarı"), { "d.txt": "dokunma" });
    writeTree(target, { "dosya/benim/x.txt": "x", klasör: "bir dosya", "bağ/y.txt": "y" });
    symlinkSync(outside, path.join(target, "bağ klasörü"));
    const plain = await restore("--overwrite", "always");
    assert.equal(plain.code, plain.files === 0 ? 1 : 3);
    assert.deepEqual((plain.last.failures as readonly { readonly path: string }[]).map((each) => each.path).sort(), [
      "bağ",
      "bağ klasörü",
      "dosya",
      "klasör",
    ]);
    assert.equal(readFileSync(path.join(target, "dosya/benim/x.txt"), "utf8"), "x");
    const kept = await restore(
      "--overwrite",
      "always",
      "--delete",
      "--exclude",
      "dosya/",
      "--exclude",
      "/bağ*",
      "--dry-run",
    );
    assert.equal(kept.last.deleted, 1, "what is left out stays");

    const args = ["--overwrite", "always", "--delete"];
    const shown = await agent.run([
      "restore",
      "latest",
      "--target",
      target,
      "--threads",
      "0",
      ...repo,
      ...args,
      "--dry-run",
    ]);
    assert.match(shown.stdout, /Nothing was written\.[\s\S]*Would delete 4 entries/);
    const words = ["restore", "latest", "--target", target, "--threads", "0", ...repo, ...args, "--dry-run"];
    const told = (await agent.json(...words)).filter((line) => line.type === "entry");
    assert.deepEqual(told.map((line) => `${line.action} ${line.path}`).sort(), [
      ...["delete bağ", "delete bağ klasörü", "delete dosya", "delete klasör"],
      ...["restore bağ", "restore bağ klasörü/d.txt", "restore dosya", "restore klasör/alt/c.txt"],
    ]);
    assert.ok(lstatSync(path.join(target, "bağ klasörü")).isSymbolicLink(), "a dry run changes nothing");
    const { code, last } = await restore(...args);
    assert.deepEqual([code, last.deleted, last.failures], [0, 4, []]);
    assertSameTree(from, target);
    assert.equal(readFileSync(path.join(outside, "d.txt"), "utf8"), "dokunma", "what a link points to stays");
    assert.equal((await restore(...args)).last.deleted, 0);
  });

  test("a dry run tells links that are there already from those that would be made, and changes none", async (t) => {
    const { agent, repo, from, target } = await backedUp(t, { "a.txt": "bir" });
    for (const name of ["aynı", "başka", "yok"]) symlinkSync("a.txt", path.join(from, name));
    await agent.json("backup", from, "--threads", "0", ...repo);
    mkdirSync(target);
    symlinkSync("a.txt", path.join(target, "aynı"));
    symlinkSync("b.txt", path.join(target, "başka"));
    const args = ["restore", "latest", "--target", target, "--threads", "0", ...repo, "--dry-run", "--overwrite"];
    for (const [mode, other] of [
      ["always", "restore"],
      ["never", "keep"],
    ] as const) {
      const told = (await agent.json(...args, mode)).filter((line) => line.type === "entry");
      assert.deepEqual(Object.fromEntries(told.map((line) => [line.path, line.action])), {
        ...{ "a.txt": "restore", aynı: "keep", başka: other, yok: "restore" },
      });
    }
    assert.deepEqual(readdirSync(target).sort(), ["aynı", "başka"]);
    assert.equal(readlinkSync(path.join(target, "başka")), "b.txt");
  });

  test("nothing is written through a link: a folder that is one is reported, a file that is one is replaced", async (t) => {
    const { target, restore } = await backedUp(t, files);
    const outside = writeTree(path.join(target, "..", "dışarı"), { "a.txt": "dokunma" });
    mkdirSync(target);
    symlinkSync(outside, path.join(target, "klasör"));
    symlinkSync(path.join(outside, "a.txt"), path.join(target, "a.txt"));
    const { code, last } = await restore("--overwrite", "always");
    assert.equal(code, 3);
    assert.match(JSON.stringify(last.failures), /something else than a directory/);
    assert.deepEqual(readdirSync(outside), ["a.txt"]);
    assert.equal(readFileSync(path.join(outside, "a.txt"), "utf8"), "dokunma");
    assert.ok(lstatSync(path.join(target, "a.txt")).isFile());
  });

  test("a restore that is interrupted leaves every file as it was or complete", async (t) => {
    const { agent, repo, from, target } = await backedUp(
      t,
      Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`f${i}.bin`, Buffer.alloc(60_000, `yeni ${i}`)])),
    );
    const old = Buffer.alloc(50_000, "eski");
    writeTree(target, Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`f${i}.bin`, old])));
    const pack = readdirSync(path.join(agent.folder, "repo/objects"), { recursive: true, encoding: "utf8" }).filter(
      (name) => /packs.*[0-9a-f]{32}/.test(name),
    );
    for (const name of pack) {
      const file = path.join(agent.folder, "repo/objects", name);
      const bytes = readFileSync(file);
      writeFileSync(file, bytes.subarray(0, Math.min(bytes.length, 4000)));
    }
    const ran = await agent.run([
      "restore",
      "latest",
      "--target",
      target,
      "--overwrite",
      "always",
      "--threads",
      "0",
      ...repo,
      "--json",
    ]);
    assert.notEqual(ran.code, 0);
    for (const name of readdirSync(from)) {
      const now = readFileSync(path.join(target, name));
      assert.ok(now.equals(old) || now.equals(readFileSync(path.join(from, name))), name);
    }
  });
});

test("a path that is not in the snapshot is named as it was asked for; alone it is exit code 1, beside others 3", async (t) => {
  const { restore } = await backedUp(t, files);
  const named = ({ last }: Awaited<ReturnType<typeof restore>>) =>
    (last.failures as readonly { readonly path: string }[]).map((each) => each.path);
  const alone = await restore("klasör/yok/x", "--overwrite", "always");
  assert.deepEqual([alone.code, named(alone)], [1, ["klasör/yok/x"]]);
  const beside = await restore("klasör/yok/x", "a.txt", "--overwrite", "always");
  assert.deepEqual([beside.code, named(beside)], [3, ["klasör/yok/x"]]);
});

test("an interrupted restore ends with 130", async (t) => {
  const { agent, repo, target } = await backedUp(t, files);
  const signal = AbortSignal.abort(new DOMException("ended", "AbortError"));
  const ran = await agent.run(["restore", "latest", "--target", target, "--threads", "0", ...repo], { signal });
  assert.deepEqual([ran.code, existsSync(path.join(target, "a.txt"))], [130, false]);
});

test("include and exclude choose what is restored", async (t) => {
  const { target, restore } = await backedUp(t, {
    "a.xml": "1",
    "b.tmp": "2",
    "k/c.xml": "3",
    "k/d.tmp": "4",
    "gizli/e.xml": "5",
  });
  await restore("--include", "*.xml", "--exclude", "gizli/");
  const found = readdirSync(target, { recursive: true, encoding: "utf8" }).sort();
  assert.deepEqual(found, ["a.xml", "k", "k/c.xml"]);
});
