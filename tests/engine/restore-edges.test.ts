import assert from "node:assert/strict";
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { folderSource } from "../../packages/engine/src/source/folder-source.ts";
import type { SourceEvent } from "../../packages/engine/src/source/source.ts";
import { openTestEnvironment, scratch, settleTimes } from "../../packages/engine/src/testing/test-environment.ts";

const modeOf = (file: string) => lstatSync(file).mode & 0o7777;

test("a restored file has setuid and setgid only if its owner was restored too", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(path.join(from, "shared"), { recursive: true });
  for (const name of ["tool", "large"]) {
    writeFileSync(path.join(from, name), Buffer.alloc(name === "tool" ? 10 : 3_000_000, name));
    chmodSync(path.join(from, name), 0o6755);
  }
  chmodSync(path.join(from, "shared"), 0o3770);
  const env = await openTestEnvironment(new MemoryStore());
  const { snapshot } = await env.backup(from);
  const plain = path.join(folder, "plain");
  assert.deepEqual((await env.restore(snapshot, plain)).failures, []);
  assert.deepEqual(
    ["tool", "large", "shared"].map((name) => modeOf(path.join(plain, name))),
    [0o755, 0o755, 0o1770],
  );
  // The files belong to this user, so restoring their owner needs no privileges.
  const owned = path.join(folder, "owned");
  assert.deepEqual((await env.restore(snapshot, owned, { owners: true })).failures, []);
  assert.deepEqual(
    ["tool", "large", "shared"].map((name) => modeOf(path.join(owned, name))),
    [0o6755, 0o6755, 0o3770],
  );
});

test("a directory that the file system refuses is reported, and everything else is restored", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(path.join(from, "a"), { recursive: true });
  mkdirSync(path.join(from, "z"));
  for (const name of ["a/inside", "b", "z/inside"]) writeFileSync(path.join(from, name), name);
  settleTimes(from);
  // A name that is too long for this file system, as if it was backed up on another one.
  const long = "n".repeat(300);
  const source = {
    async *walk(): AsyncGenerator<SourceEvent> {
      for await (const event of folderSource(from).walk()) {
        const rename = event.type === "enter" && Buffer.from(event.path).toString() === "a";
        yield rename ? { ...event, stat: { ...event.stat, name: Buffer.from(long.replace(/^n/, "a")) } } : event;
      }
    },
  };
  const env = await openTestEnvironment(new MemoryStore());
  const { snapshot } = await env.backup(from, { source });
  const to = path.join(folder, "to");
  const { failures } = await env.restore(snapshot, to);
  assert.deepEqual(
    failures.map(({ kind, reason }) => [kind, reason.split(":")[0]]),
    [["file", "ENAMETOOLONG"]],
  );
  assert.deepEqual(readdirSync(to), ["b", "z"]);
  assert.equal(readFileSync(path.join(to, "z", "inside"), "utf8"), "z/inside");
});

test("a file that the file system refuses is reported alone: the other files of its frame are restored", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  for (const name of ["a", "b", "c"]) writeFileSync(path.join(from, name), name.repeat(1000));
  settleTimes(from);
  const long = Buffer.from(`b${"n".repeat(300)}`);
  const source = {
    async *walk(): AsyncGenerator<SourceEvent> {
      for await (const event of folderSource(from).walk()) {
        const rename = event.type === "file" && Buffer.from(event.path).toString() === "b";
        yield rename ? { ...event, stat: { ...event.stat, name: long } } : event;
      }
    },
  };
  const env = await openTestEnvironment(new MemoryStore());
  const { snapshot } = await env.backup(from, { source });
  const to = path.join(folder, "to");
  const { failures, damagedFrames } = await env.restore(snapshot, to);
  assert.deepEqual(
    failures.map(({ kind, reason, pack }) => [kind, reason.split(":")[0], pack]),
    [["file", "ENAMETOOLONG", null]],
  );
  assert.deepEqual(damagedFrames, []);
  assert.deepEqual(readdirSync(to), ["a", "c"]);
  assert.equal(readFileSync(path.join(to, "c"), "utf8"), "c".repeat(1000));
});

test("files, directories and links get their time back: whole seconds exactly, others to the microsecond, before 1970 within one", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  // Node cannot set nanoseconds, so the source returns times that another program could have set.
  const nanos = [0, 1, 119, 120, 500, 880, 881, 999].map((beyond) => 389_424_000 + beyond);
  const seconds = [1_794_780_651, 2_200_000_000, -86_401];
  const times = [0, ...nanos].flatMap((n) => seconds.map((each) => [each, n] as const));
  const kinds = ["file", "link", "enter"] as const;
  for (const i of times.keys()) {
    writeFileSync(path.join(from, `file-${i}`), "");
    symlinkSync("x", path.join(from, `link-${i}`));
    mkdirSync(path.join(from, `enter-${i}`));
  }
  const source = {
    async *walk(): AsyncGenerator<SourceEvent> {
      for await (const event of folderSource(from).walk()) {
        if (!("stat" in event) || event.path.length === 0) yield event;
        else {
          const [, i] = Buffer.from(event.stat.name).toString().split("-");
          const [mtimeSeconds, mtimeNanos] = times[Number(i)] as readonly [number, number];
          yield { ...event, stat: { ...event.stat, mtimeSeconds, mtimeNanos } };
        }
      }
    },
  };
  const env = await openTestEnvironment(new MemoryStore());
  const { snapshot } = await env.backup(from, { source });
  const to = path.join(folder, "to");
  assert.deepEqual((await env.restore(snapshot, to)).failures, []);
  for (const [i, [whole, n]] of times.entries())
    for (const kind of kinds) {
      const { mtimeNs } = lstatSync(path.join(to, `${kind}-${i}`), { bigint: true });
      const time = BigInt(whole) * 1_000_000_000n + BigInt(n);
      if (n === 0) assert.equal(mtimeNs, time, kind);
      else if (whole >= 0) assert.equal(mtimeNs / 1000n, time / 1000n, `${kind} of ${time}`);
      // Versions of Node round these times differently.
      else assert.ok(mtimeNs >= time - 1000n && mtimeNs <= time + 1000n, `${mtimeNs} for ${kind} of ${time}`);
    }
});
