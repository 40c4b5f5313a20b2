/** The file store's promises between processes, under kill -9, and on a disk that is really full. */

import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openFileStore } from "./file.ts";

const writer = fileURLToPath(new URL("./testing/file-writer.ts", import.meta.url));
const run = promisify(execFile);

async function temporaryRoot(t: TestContext): Promise<string> {
  const root = await mkdtemp(path.join(os.tmpdir(), "emanet-file-"));
  t.after(() => rm(root, { recursive: true }));
  return root;
}

test("four processes that put the same 150 names ifAbsent: each name has one winner, and its bytes", async (t) => {
  const root = await temporaryRoot(t);
  const count = 150;
  const marks = ["a", "b", "c", "d"];
  const results = await Promise.all(
    marks.map(async (mark) => {
      const { stdout } = await run(process.execPath, [writer, "race", root, mark, `${count}`]);
      return { mark, won: (JSON.parse(stdout) as { won: string[] }).won };
    }),
  );
  const store = await openFileStore({ root, now: Date.now, randomBytes });
  assert.equal(results.flatMap(({ won }) => won).length, count);
  for (const { mark, won } of results) {
    for (const name of won) assert.equal(Buffer.from(await store.get(name)).toString(), mark);
  }
});

test("a process killed at any moment of a put leaves the old object or the new one, whole", async (t) => {
  const root = await temporaryRoot(t);
  const bytes = 3_000_000;
  for (let round = 1; round <= 12; round += 1) {
    const child = spawn(process.execPath, [writer, "replace", root, `${bytes}`], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = once(child, "exit");
    let seen = 0;
    for await (const _ of createInterface(child.stdout)) {
      seen += 1;
      // The line comes before the put, so the kill falls into one; later rounds see more of them.
      if (seen === round + 1) child.kill("SIGKILL");
    }
    await exited;
    const store = await openFileStore({ root, now: Date.now, randomBytes });
    const object = await store.get("replaced");
    assert.equal(object.byteLength, bytes);
    assert.ok(object.every((byte) => byte === object[0]));
  }
});

test("a full disk is `full`: old objects stay, nothing half-written is seen, no space stays lost", async (t) => {
  const mounter = findMounter();
  if (mounter === null) return t.skip("no right to mount a small file system here (needs unshare and tmpfs)");
  const root = path.join(await temporaryRoot(t), "small");
  await mkdir(root);
  const script = 'mount -t tmpfs -o size=4m tmpfs "$0" && exec "$@"';
  const { stdout } = await run("unshare", [
    ...mounter,
    "sh",
    "-c",
    script,
    root,
    process.execPath,
    writer,
    "fill",
    root,
  ]);
  assert.deepEqual(JSON.parse(stdout), {
    stream: "full",
    replace: "full",
    absent: "full",
    kept: "before",
    names: ["kept"],
    temporary: 0,
    afterwards: "ok",
  });
});

/** The flags with which `unshare` may mount here, as root or through a user namespace; null where neither works. */
function findMounter(): string[] | null {
  for (const flags of [["--mount"], ["--user", "--map-root-user", "--mount"]]) {
    const probe = spawnSync("unshare", [...flags, "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", os.tmpdir()]);
    if (probe.status === 0) return flags;
  }
  return null;
}
