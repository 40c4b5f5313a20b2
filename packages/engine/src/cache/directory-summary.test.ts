import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../testing/random-tree.ts";
import { decodeSummary, encodeSummary } from "./directory-summary.ts";

test("a summary is read as it was written: digest, files, bytes, nodes, each ordinal once", () => {
  const random = new SeededRandom(5);
  for (const count of [0, 1, 2, 1000]) {
    const ordinals = Array.from({ length: count }, () => random.below(2 ** 30));
    const summary = { digest: random.bytes(32), files: count, size: count * 2 ** 33, nodes: 1 + count };
    const read = decodeSummary(encodeSummary({ ...summary, ordinals: [...ordinals, ...ordinals] }));
    assert.deepEqual(read, { ...summary, ordinals: [...new Set(ordinals)].sort((a, b) => a - b) });
  }
});

test("no bytes are no summary", () => {
  assert.equal(decodeSummary(Buffer.alloc(0)), null);
});
