import assert from "node:assert/strict";
import type { BigIntStats } from "node:fs";
import { test } from "node:test";
import { identityOf } from "./source.ts";

const stats = (more: Partial<BigIntStats>) => ({ dev: 1n, ino: 2n, birthtimeNs: 3n, ...more }) as BigIntStats;

test("a directory is identified by device, inode and birth time: one that reuses an inode number is another one", () => {
  const known = identityOf(stats({}));
  assert.ok(known !== undefined);
  assert.deepEqual(identityOf(stats({})), known);
  for (const other of [{ dev: 9n }, { ino: 9n }, { birthtimeNs: 4n }, { birthtimeNs: 3n + (1n << 40n) }])
    assert.notDeepEqual(identityOf(stats(other)), known);
});

test("a directory without a birth time has no identity", () => {
  assert.equal(identityOf(stats({ birthtimeNs: 0n })), undefined);
});
