import assert from "node:assert/strict";
import type { BigIntStats } from "node:fs";
import { test } from "node:test";
import { identityOf } from "./source.ts";

const stats = (more: Partial<BigIntStats>) => ({ dev: 1n, ino: 2n, birthtimeNs: 3n, ...more }) as BigIntStats;

test("a directory is known by device, number and birth: another one with a number that is used again is not it", () => {
  const known = identityOf(stats({}));
  assert.ok(known !== undefined);
  assert.deepEqual(identityOf(stats({})), known);
  for (const other of [{ dev: 9n }, { ino: 9n }, { birthtimeNs: 4n }, { birthtimeNs: 3n + (1n << 40n) }])
    assert.notDeepEqual(identityOf(stats(other)), known);
});

test("where nobody can tell when a directory was made, it is known by nothing", () => {
  assert.equal(identityOf(stats({ birthtimeNs: 0n })), undefined);
});
