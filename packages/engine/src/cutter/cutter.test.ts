import assert from "node:assert/strict";
import { test } from "node:test";
import { Cutter } from "./cutter.ts";

const cutter = new Cutter(Buffer.alloc(32, 7), 1 << 20, 1);

test("pages end at the page size, counted from where the first one began", () => {
  const ends = (from: number, to: number, beyond: number, final: boolean) => [
    ...cutter.pages(from, to, 4096, beyond, final),
  ];
  assert.deepEqual(ends(0, 12_288, 0, false), [4096, 8192, 12_288]);
  assert.deepEqual(ends(100, 9000, 96, false), [4100, 8196]);
  assert.deepEqual(ends(100, 9000, 96, true), [4100, 8196, 9000]);
  assert.deepEqual(ends(100, 4100, 96, true), [4100]);
});

test("where no byte is left there is no page, not even an empty one", () => {
  for (const beyond of [0, 1, 4095]) assert.deepEqual([...cutter.pages(500, 500, 4096, beyond, true)], []);
});
