/** A file in a spooled archive is cut like in a folder, at any offset of the spool. */

import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import type { SnapshotRow } from "../../packages/engine/src/catalog/catalog.ts";
import { decodeBlockList } from "../../packages/engine/src/format/block-list.ts";
import { hex } from "../../packages/engine/src/format/bytes.ts";
import { sessionOfFrame } from "../../packages/engine/src/format/frame.ts";
import { findEntry } from "../../packages/engine/src/format/tree-reader.ts";
import { frameReaderOf } from "../../packages/engine/src/restore/local-read-port.ts";
import { rootEntry } from "../../packages/engine/src/restore/root-entry.ts";
import type { BackupSource, SourceEvent } from "../../packages/engine/src/source/source.ts";
import { allFrameRows } from "../../packages/engine/src/testing/catalog-content.ts";
import { SeededRandom } from "../../packages/engine/src/testing/random-tree.ts";
import type { TestEnvironment } from "../../packages/engine/src/testing/test-environment.ts";
import { openTestEnvironment, scratch, settleTimes } from "../../packages/engine/src/testing/test-environment.ts";
import { dump } from "./testing/dump.ts";

const stat = {
  mode: 0o644,
  uid: 0,
  gid: 0,
  mtimeSeconds: 1_500_000_000,
  mtimeNanos: 0,
  attributes: [],
};

/** A source of one file that starts at an offset of a spool. */
function spoolSource(spool: string, name: string, offset: number, size: number): BackupSource {
  const file: SourceEvent = {
    type: "file",
    path: Buffer.from(name),
    stat: { ...stat, name: Buffer.from(name) },
    size,
    changeStat: { inode: 1n, ctimeNs: 0n },
    content: { path: Buffer.from(spool), offset },
  };
  return {
    async *walk() {
      yield { type: "enter", path: Buffer.alloc(0), stat: { ...stat, name: Buffer.alloc(0), mode: 0o755 } };
      yield file;
      yield { type: "leave" };
    },
  };
}

async function newBytes(env: TestEnvironment, { session }: SnapshotRow): Promise<number> {
  let bytes = 0;
  for await (const row of allFrameRows(env.vault.catalog))
    if (row.kind === "data" && sessionOfFrame(row.frame) === session)
      bytes += decodeBlockList(row.blockList).lengths.reduce((sum, length) => sum + length, 0);
  return bytes;
}

async function hashOf(env: TestEnvironment, snapshot: SnapshotRow, name: string): Promise<string> {
  const reader = frameReaderOf(env.vault);
  const { root } = await rootEntry(reader, snapshot);
  const entry = await findEntry(reader, root, Buffer.from(name));
  assert.ok(entry?.type === "file");
  return hex(entry.hash);
}

const incompressible = createCipheriv("aes-128-ctr", Buffer.alloc(16, 1), Buffer.alloc(16)).update(
  Buffer.alloc(3 << 20),
);
const contents: Record<string, Buffer> = {
  "a dump": dump(new SeededRandom(31), 400),
  "a dump after a preamble": Buffer.concat([
    Buffer.from("TAPE"),
    Buffer.alloc(1532, 7),
    dump(new SeededRandom(32), 400),
  ]),
  "an incompressible file": incompressible,
};
for (const [what, bytes] of Object.entries(contents)) {
  test(`${what} has the same hash at any offset of a spool as in a folder, and is stored once`, async (t) => {
    const folder = scratch(t);
    const from = path.join(folder, "from");
    mkdirSync(from);
    writeFileSync(path.join(from, "a.bak"), bytes);
    settleTimes(from);
    const env = await openTestEnvironment(new MemoryStore());
    const { snapshot } = await env.backup(from);
    const hash = await hashOf(env, snapshot, "a.bak");
    assert.ok((await newBytes(env, snapshot)) > 0);
    for (const offset of [0, 512, 1536, 8192, 100_001]) {
      const spool = path.join(folder, `spool-${offset}`);
      writeFileSync(spool, Buffer.concat([Buffer.alloc(offset, 3), bytes, Buffer.alloc(1024, 5)]));
      env.ctx.advance(1000);
      const again = await env.backup("", { source: spoolSource(spool, "b.bak", offset, bytes.length) });
      assert.deepEqual(
        [await hashOf(env, again.snapshot, "b.bak"), await newBytes(env, again.snapshot)],
        [hash, 0],
        `at ${offset}`,
      );
    }
  });
}
