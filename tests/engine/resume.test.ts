/** An interrupted restore is resumed. Only files that are certainly complete are skipped. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createCipheriv } from "node:crypto";
import { once } from "node:events";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { SnapshotRow } from "../../packages/engine/src/catalog/catalog.ts";
import type { RestoreOptions } from "../../packages/engine/src/restore/folder/restore.ts";
import { restoreSnapshot } from "../../packages/engine/src/restore/folder/restore.ts";
import { LocalReadPort } from "../../packages/engine/src/restore/local-read-port.ts";
import {
  describeTree,
  inlineRestorePool,
  openTestEnvironment,
  scratch,
  settleTimes,
  testContext,
} from "../../packages/engine/src/testing/test-environment.ts";
import { openParts, openRepository } from "./testing/stopped-restore.ts";

const program = fileURLToPath(new URL("./testing/stopped-restore.ts", import.meta.url));
const count = 24;
const fileBytes = 1024 * 1024;

/** The size of one request. A resumed restore reads this much twice. */
const requestBytes = 4 * 1024 * 1024;

/** A repository in a folder. Its tree has incompressible files, an empty file, a hole, a link and a directory. */
async function prepare(t: { after(fn: () => void): void }) {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(path.join(from, "inside"), { recursive: true });
  const noise = createCipheriv("aes-128-ctr", Buffer.alloc(16, 41), Buffer.alloc(16));
  for (let i = 0; i < count; i++)
    writeFileSync(
      path.join(from, i % 2 === 0 ? "inside" : ".", `f${String(i).padStart(2, "0")}`),
      noise.update(Buffer.alloc(fileBytes)),
    );
  writeFileSync(path.join(from, "empty"), "");
  writeFileSync(path.join(from, "zeros"), Buffer.alloc(300_000));
  symlinkSync("inside/f00", path.join(from, "link"));
  settleTimes(from);
  const ctx = testContext(1);
  const { files, catalog } = await openParts(folder, ctx);
  const env = await openTestEnvironment(files, { catalog });
  const { snapshot } = await env.backup(from, { settings: { packBytes: 8 * 1024 * 1024 } });
  await catalog.close();
  return { folder, from, to: path.join(folder, "to"), snapshot };
}

/** Restores in another process, which is killed before its read with the given number. */
async function stopped(folder: string, reads: number): Promise<void> {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", program, folder, String(reads)], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const [, signal] = await once(child, "exit");
  assert.equal(signal, "SIGKILL");
}

async function again(folder: string, snapshot: SnapshotRow, more: Partial<RestoreOptions> = {}) {
  const { vault, seen } = await openRepository(folder, () => undefined);
  const target = path.join(folder, "to");
  const result = await restoreSnapshot({
    port: new LocalReadPort(vault),
    snapshot,
    target,
    pool: inlineRestorePool,
    ...more,
  });
  return { result, seen };
}

/** The complete files: those that have their time. */
function complete(to: string): string[] {
  return readdirSync(to, { recursive: true, encoding: "utf8" })
    .filter((name) => /f\d\d$/.test(name) && statSync(path.join(to, name)).mtimeMs === 1_500_000_000_000)
    .sort();
}

const markOf = (to: string) => readdirSync(to).filter((name) => name.startsWith(".emanet-restore-"));

test("a killed restore is resumed: complete files are not read again, and the result is exact", async (t) => {
  const { folder, from, to, snapshot } = await prepare(t);
  for (const reads of [4, 6]) {
    const before = readdirSync(folder).includes("to") ? complete(to).length : 0;
    await stopped(folder, reads);
    assert.equal(markOf(to).length, 1);
    assert.ok(complete(to).length > before && complete(to).length < count, `${complete(to).length} complete`);
  }
  const done = complete(to).length;
  const { result, seen } = await again(folder, snapshot);
  assert.deepEqual(result.failures, []);
  assert.deepEqual([result.files, result.skippedFiles >= done], [count + 2, true]);
  assert.ok(result.skippedBytes >= done * fileBytes);
  assert.ok(seen.bytes <= (count - done) * fileBytes + requestBytes, `${seen.bytes} read for ${count - done} files`);
  assert.deepEqual(describeTree(to), describeTree(from));
});

test("an error of the store stops a restore; the next run resumes it", async (t) => {
  const { folder, from, to, snapshot } = await prepare(t);
  const { vault } = await openRepository(folder, (reads) => {
    if (reads === 5) throw new Error("the store is away");
  });
  await assert.rejects(
    restoreSnapshot({ port: new LocalReadPort(vault), snapshot, target: to, pool: inlineRestorePool }),
    /away/,
  );
  const done = complete(to).length;
  assert.ok(done > 0);
  assert.ok((await again(folder, snapshot)).result.skippedFiles >= done);
  assert.deepEqual(describeTree(to), describeTree(from));
});

test("what was changed meanwhile is written again: other bytes, another size, another time, a link in place of a directory", async (t) => {
  const { folder, from, to, snapshot } = await prepare(t);
  await stopped(folder, 6);
  const [first = "", second = "", third = "", ...rest] = complete(to);
  assert.ok(rest.length > 0);
  writeFileSync(path.join(to, first), Buffer.alloc(fileBytes));
  appendFileSync(path.join(to, second), "x");
  utimesSync(path.join(to, second), 1_500_000_000, 1_500_000_000);
  utimesSync(path.join(to, third), 1_500_000_000, 1_500_000_001);
  symlinkSync("/nowhere", path.join(to, "link"));
  const { result } = await again(folder, snapshot);
  assert.deepEqual(result.failures, []);
  assert.deepEqual(describeTree(to), describeTree(from));
});

test("after a restart of the machine, or without a boot id, every file is written again", async (t) => {
  const { folder, from, to, snapshot } = await prepare(t);
  await stopped(folder, 6);
  const [name = ""] = markOf(to);
  const stateFile = path.join(to, name);
  const [head, digest] = readFileSync(stateFile, "utf8").split("\n");
  for (const boot of ["00000000-0000-0000-0000-000000000000", ""]) {
    writeFileSync(stateFile, [head, digest, boot, ""].join("\n"));
    const [file = ""] = complete(to);
    // A file after a power failure: right size and time, wrong bytes.
    writeFileSync(path.join(to, file), Buffer.alloc(fileBytes));
    utimesSync(path.join(to, file), 1_500_000_000, 1_500_000_000);
    const { result } = await again(folder, snapshot);
    assert.equal(result.skippedFiles, 0);
    assert.deepEqual(describeTree(to), describeTree(from));
    writeFileSync(stateFile, "");
  }
});

test("a folder with other content, or of another restore, is refused; a link in place of a directory is not followed", async (t) => {
  const { folder, to, snapshot } = await prepare(t);
  mkdirSync(to);
  writeFileSync(path.join(to, "foreign"), "mine");
  await assert.rejects(again(folder, snapshot), /missing or an empty folder/);
  rmSync(to, { recursive: true });
  await stopped(folder, 4);
  await assert.rejects(again(folder, snapshot, { paths: [Buffer.from("inside")] }), /other paths or options/);
  await assert.rejects(again(folder, snapshot, { hashAll: true }), /other paths or options/);
  await assert.rejects(again(folder, { ...snapshot, id: "ab".repeat(16) }), /missing or an empty folder/);
  rmSync(path.join(to, "inside"), { recursive: true });
  const elsewhere = path.join(folder, "elsewhere");
  mkdirSync(elsewhere);
  symlinkSync(elsewhere, path.join(to, "inside"));
  const { result } = await again(folder, snapshot);
  assert.deepEqual(
    result.failures.map(({ kind }) => kind),
    ["file"],
  );
  assert.deepEqual(readdirSync(elsewhere), []);
});
