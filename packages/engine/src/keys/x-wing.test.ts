import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { xWingDecapsulate, xWingEncapsulate, xWingPublicKey } from "./x-wing.ts";
import vectors from "./x-wing.vectors.json" with { type: "json" };

const ctx = { now: () => 0, random: (length: number) => randomBytes(length) };
const bytes = (text: string) => Buffer.from(text, "hex");

test("the draft's published vectors: public key and shared secret", () => {
  assert.equal(vectors.length, 3);
  for (const vector of vectors) {
    assert.equal(Buffer.from(xWingPublicKey(bytes(vector.sk))).toString("hex"), vector.pk);
    assert.equal(Buffer.from(xWingDecapsulate(bytes(vector.sk), bytes(vector.ct))).toString("hex"), vector.ss);
  }
});

test("what is encapsulated to a public key is found by its seed and by no other", () => {
  const seed = randomBytes(32);
  const { ciphertext, sharedSecret } = xWingEncapsulate(ctx, xWingPublicKey(seed));
  assert.deepEqual(Buffer.from(xWingDecapsulate(seed, ciphertext)), Buffer.from(sharedSecret));
  assert.notDeepEqual(Buffer.from(xWingDecapsulate(randomBytes(32), ciphertext)), Buffer.from(sharedSecret));
});

test("a changed byte in either half of a ciphertext gives another secret", () => {
  const seed = randomBytes(32);
  const { ciphertext, sharedSecret } = xWingEncapsulate(ctx, xWingPublicKey(seed));
  for (const at of [0, 500, 1087, 1088, 1119]) {
    const changed = Buffer.from(ciphertext);
    changed[at] = (changed[at] ?? 0) ^ 1;
    assert.notDeepEqual(Buffer.from(xWingDecapsulate(seed, changed)), Buffer.from(sharedSecret));
  }
});
