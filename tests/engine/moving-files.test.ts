import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { FileCache } from "../../packages/engine/src/cache/file-cache.ts";
import { folderSource } from "../../packages/engine/src/source/folder-source.ts";
import type { BackupSource, FileEvent } from "../../packages/engine/src/source/source.ts";
import { openTestEnvironment, scratch, seededBytes } from "../../packages/engine/src/testing/test-environment.ts";

const bytes = seededBytes(51);
/** Larger than bundled files, so it is read in stripes. */
const largeBytes = 700_000;

function prepare(t: { after(fn: () => void): void }) {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  writeFileSync(path.join(from, "large"), bytes(largeBytes));
  writeFileSync(path.join(from, "small"), bytes(5000));
  writeFileSync(path.join(from, "still"), bytes(5000));
  return { folder, from, to: path.join(folder, "to") };
}

/** The folder as a source. `happens` runs after a file was listed and before it is read. */
function moving(from: string, happens: Record<string, (event: FileEvent) => FileEvent>): BackupSource {
  async function* walk() {
    for await (const event of folderSource(from).walk()) {
      const change = event.type === "file" ? happens[Buffer.from(event.path).toString()] : undefined;
      yield event.type === "file" && change !== undefined ? change(event) : event;
    }
  }
  return { walk };
}

function replace(file: string, content: Uint8Array): void {
  writeFileSync(`${file}.new`, content);
  renameSync(`${file}.new`, file);
}

const warningsOf = (warnings: readonly { path: Uint8Array; code: string }[]) =>
  warnings.map(({ path: at, code }) => `${Buffer.from(at)} ${code}`).sort();

describe("files that move between the walk and the read", () => {
  test("small files that grew, shrank or were replaced are read again, and stored as they were then", async (t) => {
    const { from, to } = prepare(t);
    const env = await openTestEnvironment(new MemoryStore());
    const names = ["small", "emptied", "swapped", "swollen"];
    for (const name of names.slice(1)) writeFileSync(path.join(from, name), bytes(4000));
    const change = (name: string, how: (file: string) => void) => ({
      [name]: (event: FileEvent) => {
        how(path.join(from, name));
        return event;
      },
    });
    const source = moving(from, {
      ...change("small", (file) => appendFileSync(file, "more")),
      ...change("emptied", (file) => writeFileSync(file, "")),
      ...change("swapped", (file) => replace(file, bytes(4000))),
      // It is no small file any more.
      ...change("swollen", (file) => writeFileSync(file, bytes(largeBytes))),
    });
    const { warnings, snapshot } = await env.backup(from, { source });
    assert.deepEqual(warningsOf(warnings), []);
    assert.deepEqual((await env.restore(snapshot, to)).failures, []);
    for (const name of [...names, "still", "large"])
      assert.ok(readFileSync(path.join(to, name)).equals(readFileSync(path.join(from, name))), name);
  });

  test("a small file that is replaced again and again gets a warning; its neighbours do not", async (t) => {
    const { from } = prepare(t);
    const env = await openTestEnvironment(new MemoryStore());
    const small = path.join(from, "small");
    const source = moving(from, {
      small: (event) => {
        replace(small, bytes(5000));
        const statAgain = () => {
          const now = event.statAgain?.() ?? null;
          replace(small, bytes(5000));
          return now;
        };
        return { ...event, statAgain };
      },
    });
    const { warnings } = await env.backup(from, { source });
    assert.deepEqual(warningsOf(warnings), ["small changed"]);
  });

  test("a file that became a directory after its quick stat gets a warning, and everything else is stored", async (t) => {
    const { folder, from, to } = prepare(t);
    const env = await openTestEnvironment(new MemoryStore());
    const cache = new FileCache(path.join(folder, "cache"));
    t.after(() => cache.close());
    await env.backup(from, { cache });
    appendFileSync(path.join(from, "small"), "more");
    const source: BackupSource = {
      walk: () => folderSource(from).walk(),
      *quickWalk() {
        for (const event of folderSource(from).quickWalk?.() ?? []) {
          if (event.type === "quick-stats") {
            rmSync(path.join(from, "small"));
            mkdirSync(path.join(from, "small"));
          }
          yield event;
        }
      },
    };
    env.ctx.advance(1000);
    const { warnings, snapshot } = await env.backup(from, { cache, source });
    assert.deepEqual(warningsOf(warnings), ["small changed"]);
    assert.deepEqual((await env.restore(snapshot, to)).failures, []);
    assert.deepEqual(readdirSync(to).sort(), ["large", "still"]);
  });

  test("a large file that is replaced during the backup is stored completely in its new state, without a warning", async (t) => {
    const { from, to } = prepare(t);
    const env = await openTestEnvironment(new MemoryStore());
    const later = bytes(largeBytes + 300_000);
    const source = moving(from, {
      large: (event) => {
        replace(path.join(from, "large"), later);
        return event;
      },
    });
    const { warnings, snapshot } = await env.backup(from, { source });
    assert.deepEqual(warningsOf(warnings), []);
    assert.deepEqual((await env.restore(snapshot, to)).failures, []);
    assert.ok(readFileSync(path.join(to, "large")).equals(later));
  });

  test("a large file that is replaced again and again gets a warning", async (t) => {
    const { from } = prepare(t);
    const env = await openTestEnvironment(new MemoryStore());
    const large = path.join(from, "large");
    const source = moving(from, {
      large: (event) => {
        replace(large, bytes(largeBytes));
        const statAgain = () => {
          const now = event.statAgain?.() ?? null;
          replace(large, bytes(largeBytes));
          return now;
        };
        return { ...event, statAgain };
      },
    });
    const { warnings } = await env.backup(from, { source });
    assert.deepEqual(warningsOf(warnings), ["large changed"]);
  });

  test("a path that became a link is not followed, and one that became a pipe does not block; both get a warning", async (t) => {
    const { from, folder, to } = prepare(t);
    const env = await openTestEnvironment(new MemoryStore());
    writeFileSync(path.join(folder, "outside"), bytes(largeBytes));
    const source = moving(from, {
      large: (event) => {
        rmSync(path.join(from, "large"));
        execFileSync("mkfifo", [path.join(from, "large")]);
        return event;
      },
      small: (event) => {
        rmSync(path.join(from, "small"));
        symlinkSync(path.join(folder, "outside"), path.join(from, "small"));
        return event;
      },
    });
    const { warnings, snapshot } = await env.backup(from, { source });
    assert.deepEqual(warningsOf(warnings), ["large special_file", "small ELOOP"]);
    assert.equal(snapshot.files, 1);
    assert.deepEqual((await env.restore(snapshot, to)).failures, []);
  });

  test("a directory that vanishes during the walk is a warning; the backup continues after it", async (t) => {
    const { from, to } = prepare(t);
    for (const name of ["a-temp", "b-temp"]) mkdirSync(path.join(from, name));
    writeFileSync(path.join(from, "b-temp", "inside"), "x");
    async function* walk() {
      for await (const event of folderSource(from).walk()) {
        // The names in the root were read before this, with `b-temp`.
        if (event.type === "enter" && Buffer.from(event.path).toString() === "a-temp") {
          rmSync(path.join(from, "a-temp"), { recursive: true });
          rmSync(path.join(from, "b-temp"), { recursive: true });
        }
        yield event;
      }
    }
    const env = await openTestEnvironment(new MemoryStore());
    const { snapshot, warnings } = await env.backup(from, { source: { walk } });
    assert.deepEqual(warningsOf(warnings), ["a-temp ENOENT", "b-temp ENOENT"]);
    assert.deepEqual((await env.restore(snapshot, to)).failures, []);
    assert.deepEqual(readFileSync(path.join(to, "still")), readFileSync(path.join(from, "still")));
  });
});
