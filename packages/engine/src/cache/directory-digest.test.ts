import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../testing/random-tree.ts";
import { decodeTotals, encodeTotals, marksPerFile, rollDigest } from "./directory-digest.ts";

test("rolls are the same only with the same names in the same order and every mark of every file", () => {
  const names = ["a", "bc", "d"];
  const marks = Float64Array.from({ length: names.length * marksPerFile }, (_, i) => i + 1);
  const digestOf = (each: readonly string[], ofMarks: Float64Array) => rollDigest(Buffer.from(each.join("/")), ofMarks);
  const same = (others: readonly string[], otherMarks = marks) =>
    digestOf(others, otherMarks).equals(digestOf(names, marks));
  assert.ok(same([...names], marks.slice()));
  for (const others of [["ab", "c", "d"], ["a", "b", "cd"], ["bc", "a", "d"], ["a", "bc"], ["a", "bc", "d", ""], []])
    assert.ok(!same(others), others.join());
  for (const i of marks.keys())
    assert.ok(
      !same(
        names,
        marks.map((mark, at) => (at === i ? mark + 2 ** -40 : mark)),
      ),
      `mark ${i}`,
    );
});

test("a sum is read as it was written: files, bytes, each ordinal once", () => {
  const random = new SeededRandom(5);
  for (const count of [0, 1, 2, 1000]) {
    const ordinals = Array.from({ length: count }, () => random.below(2 ** 30));
    const sum = { files: count, size: count * 2 ** 33, ordinals: [...ordinals, ...ordinals] };
    const read = decodeTotals(encodeTotals(sum));
    assert.deepEqual([read.files, read.size], [sum.files, sum.size]);
    assert.deepEqual(
      [...read.ordinals],
      [...new Set(ordinals)].sort((a, b) => a - b),
    );
  }
});
