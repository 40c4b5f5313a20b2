import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../testing/random-tree.ts";
import { SortedNames } from "./sorted-names.ts";

function sorted(names: readonly Buffer[]): Buffer[] {
  const list = new SortedNames();
  for (const name of names) list.add(name);
  // A name is valid until the next one.
  const copies: Buffer[] = [];
  for (const name of list.inOrder()) copies.push(Buffer.from(name));
  return copies;
}

test("names come in byte order: no name, one name, one run, many runs", () => {
  const random = new SeededRandom(1);
  // 60 000 names of up to 60 bytes are two runs by bytes; 70 000 of three bytes are two by number.
  for (const [count, length] of [
    [0, 0],
    [1, 1],
    [2000, 255],
    [60_000, 60],
    [70_000, 3],
  ] as const) {
    const names = Array.from({ length: count }, (_, i) =>
      i % 3 === 0 ? random.bytes(1 + random.below(length)) : Buffer.from(`fatura-${i}`.slice(-length)),
    );
    const expected = [...names].sort(Buffer.compare);
    assert.ok(Buffer.concat(sorted(names)).equals(Buffer.concat(expected)), `${count} names`);
  }
});

test("a name longer than any system allows is refused and not shortened", () => {
  assert.throws(() => new SortedNames().add(Buffer.alloc(70_000)), RangeError);
});
