/** The part of the catalog's conformance suite that concerns the vault's chain: its head, epochs, revoked writers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { MakeCatalog } from "./catalog-fixture.ts";

export function chainConformance(make: MakeCatalog): void {
  test("the head of the chain and the newest epoch never go back", async () => {
    const catalog = await make();
    const head = (sequence: number) => ({ sequence, hash: Buffer.alloc(32, sequence) });
    const state = async () => {
      const { sequence, hash } = await catalog.chainHead();
      return [sequence, Buffer.from(hash), await catalog.newestEpoch()];
    };
    await catalog.advanceChain(head(5), 3);
    await catalog.advanceChain(head(4), 2);
    assert.deepEqual(await state(), [5, Buffer.alloc(32, 5), 3]);
    await catalog.advanceChain({ ...head(5), hash: Buffer.alloc(32, 9) });
    assert.deepEqual(await state(), [5, Buffer.alloc(32, 5), 3], "the record that is there already");
    await catalog.addRebuilt({ chainHead: head(2), epoch: 1 });
    assert.deepEqual(await state(), [5, Buffer.alloc(32, 5), 3], "a rebuild that found less");
    await catalog.advanceChain(head(6));
    assert.deepEqual(await state(), [6, Buffer.alloc(32, 6), 3]);
  });

  test("a revocation moves to an earlier session and never to a later one", async () => {
    const catalog = await make();
    assert.equal(await catalog.revokedFrom("w"), null);
    await catalog.revokeWriter("w", 7);
    await catalog.revokeWriter("w", 9);
    assert.equal(await catalog.revokedFrom("w"), 7);
    await catalog.addRebuilt({ revoked: new Map([["w", 8]]) });
    assert.equal(await catalog.revokedFrom("w"), 7, "a rebuild that found a later one");
    await catalog.revokeWriter("w", 3);
    assert.equal(await catalog.revokedFrom("w"), 3);
    assert.equal(await catalog.revokedFrom("other"), null);
  });
}
