import assert from "node:assert/strict";
import { test } from "node:test";
import { buffersPerUpload, FreeBuffers } from "./free-buffers.ts";

for (const lookahead of [1, 2])
  test(`with a lookahead of ${lookahead} every buffer is given once, and large ones come back as large ones`, {
    timeout: 10_000,
  }, async () => {
    const buffers = new FreeBuffers(lookahead);
    const all = Array.from({ length: buffersPerUpload(lookahead) }, (_, i) => i);
    const takeSome = async (kind: "bundle" | "stripe", count: number) => {
      const taken: (number | null)[] = [];
      for (let i = 0; i < count; i++) taken.push(await buffers.take(kind));
      return taken.sort((a, b) => Number(a) - Number(b));
    };
    assert.deepEqual(await takeSome("bundle", all.length), all);
    for (const index of all) buffers.release(index);
    assert.deepEqual(await takeSome("stripe", 2 * lookahead), all.slice(0, 2 * lookahead));
  });
