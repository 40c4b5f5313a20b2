import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { ml_kem768_x25519 as XWing } from "@noble/post-quantum/hybrid.js";
import { xWingDecapsulate, xWingEncapsulate, xWingPublicKey } from "./x-wing.ts";
import vectors from "./x-wing.vectors.json" with { type: "json" };

const ctx = { now: () => 0, random: (length: number) => randomBytes(length) };
const bytes = (text: string) => Buffer.from(text, "hex");
const text = (value: Uint8Array) => Buffer.from(value).toString("hex");

test("the draft's published vectors: public key and shared secret", () => {
  assert.equal(vectors.length, 3);
  for (const vector of vectors) {
    assert.equal(text(xWingPublicKey(bytes(vector.sk))), vector.pk);
    assert.equal(text(xWingDecapsulate(bytes(vector.sk), bytes(vector.ct))), vector.ss);
  }
});

// Node takes no seed for ML-KEM's encapsulation, so our own ciphertext cannot be compared with the published one. An
// independent implementation that takes one is held to the vectors instead, and ours to that implementation.
test("encapsulation agrees with an independent implementation that gives the published ciphertexts", () => {
  for (const vector of vectors) {
    const published = XWing.encapsulate(bytes(vector.pk), bytes(vector.eseed));
    assert.deepEqual([text(published.cipherText), text(published.sharedSecret)], [vector.ct, vector.ss]);
    assert.equal(text(xWingDecapsulate(bytes(vector.sk), published.cipherText)), vector.ss);
    const ours = xWingEncapsulate(ctx, bytes(vector.pk));
    assert.equal(text(XWing.decapsulate(ours.ciphertext, bytes(vector.sk))), text(ours.sharedSecret));
  }
  for (let i = 0; i < 5; i++) {
    const seed = randomBytes(32);
    const theirs = XWing.keygen(seed);
    assert.equal(text(xWingPublicKey(seed)), text(theirs.publicKey));
    const sent = XWing.encapsulate(theirs.publicKey);
    assert.equal(text(xWingDecapsulate(seed, sent.cipherText)), text(sent.sharedSecret));
    const ours = xWingEncapsulate(ctx, theirs.publicKey);
    assert.equal(text(XWing.decapsulate(ours.ciphertext, theirs.secretKey)), text(ours.sharedSecret));
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
