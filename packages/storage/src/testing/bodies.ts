/** Bodies and assertions for tests of object stores: deterministic bytes, streams of any length, expected codes. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { isObjectStoreError, type ObjectStoreErrorCode } from "@emanet/engine/object-store";

/** What a file stream yields by default, and no divisor of a part size: chunks never end where parts do. */
const chunkBytes = 65_536 - 1;

/** Bytes that look random and are the same for the same seed. */
export function seededBytes(seed: number, length: number): Uint8Array {
  return new Uint8Array(
    createHash("shake256", { outputLength: Math.max(1, length) })
      .update(`${seed}`)
      .digest(),
  ).subarray(0, length);
}

/** Opens a stream of `length` bytes, never all in memory; every part of it and every seed differ. */
export function patternStream(seed: number, length: number): () => AsyncGenerator<Uint8Array> {
  return async function* () {
    const chunk = seededBytes(seed, chunkBytes);
    const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let offset = 0; offset < length; offset += chunkBytes) {
      view.setUint32(0, offset);
      yield chunk.subarray(0, Math.min(chunkBytes, length - offset));
    }
  };
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Asserts that a call rejects with an `ObjectStoreError` of this code. */
export async function rejectsWith(code: ObjectStoreErrorCode, call: Promise<unknown>): Promise<void> {
  await assert.rejects(call, (error) => {
    if (!isObjectStoreError(error)) throw error;
    assert.equal(error.code, code, error.message);
    return true;
  });
}
