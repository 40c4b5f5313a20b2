import assert from "node:assert/strict";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { MemoryStore } from "@emanet/storage";
import { decodeBlockList } from "../../packages/engine/src/format/block-list.ts";
import { sessionOfFrame } from "../../packages/engine/src/format/frame.ts";
import { allFrameRows } from "../../packages/engine/src/testing/catalog-content.ts";
import { SeededRandom } from "../../packages/engine/src/testing/random-tree.ts";
import {
  describeTree,
  openTestEnvironment,
  scratch,
  settleTimes,
} from "../../packages/engine/src/testing/test-environment.ts";

const pageBytes = 8192;
const pages = 2000;

/** A database of no known format: each page has its number, the rest is rows and what was there before. */
function database(random: SeededRandom): Buffer {
  const bytes = random.bytes(pages * pageBytes);
  for (let page = 0; page < pages; page++) {
    bytes.writeBigUInt64LE(BigInt(page), page * pageBytes);
    bytes.fill(`fatura satırı ${page % 50} `, page * pageBytes + 2000, page * pageBytes + 6000);
  }
  return bytes;
}

test("a renamed database of an unknown format with 1.7 % of its pages changed uploads at most 2 % of it", async (t) => {
  const folder = scratch(t);
  const from = path.join(folder, "from");
  mkdirSync(from);
  const random = new SeededRandom(8);
  const bytes = database(random);
  writeFileSync(path.join(from, "night 0"), bytes);
  const env = await openTestEnvironment(new MemoryStore());
  await env.backup(from);
  for (let night = 1; night <= 2; night++) {
    for (let i = 0; i < pages * 0.017; i++) random.bytes(100).copy(bytes, random.below(pages) * pageBytes + 3000);
    renameSync(path.join(from, `night ${night - 1}`), path.join(from, `night ${night}`));
    writeFileSync(path.join(from, `night ${night}`), bytes);
    settleTimes(from);
    env.ctx.advance(1000);
    const { snapshot } = await env.backup(from);
    let added = 0;
    for await (const row of allFrameRows(env.vault.catalog))
      if (row.kind === "data" && sessionOfFrame(row.frame) === snapshot.session)
        for (const length of decodeBlockList(row.blockList).lengths) added += length;
    assert.ok(added / bytes.length <= 0.02, `night ${night}: ${((added / bytes.length) * 100).toFixed(2)} %`);
    const to = path.join(folder, `to ${night}`);
    assert.deepEqual((await env.restore(snapshot, to)).failures, []);
    assert.deepEqual(describeTree(to), describeTree(from));
  }
});
