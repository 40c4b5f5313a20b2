import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { isAmong, isRepackDue, scrubDays, sliceOf, slicesDue } from "./rules.ts";

const day = 24 * 3_600_000;
const at = (days: number) => new Date(Date.parse("2026-11-17T00:00:00Z") + days * day);
const nameOf = (i: number) => createHash("md5").update(`${i}`).digest("hex");

test("the slices of thirty days have every pack once, also when days are left out", () => {
  const packs = Array.from({ length: 3000 }, (_, i) => nameOf(i));
  for (const rest of [0, 3, 40]) {
    const read = new Map<string, number>();
    let slice = 7;
    let scrubbedAt: Date | null = null;
    let left = scrubDays;
    for (let now = 0; left > 0; now += 1 + rest) {
      const count = Math.min(slicesDue(scrubbedAt, at(now)), left);
      for (const pack of packs) if (isAmong(sliceOf(pack), slice, count)) read.set(pack, (read.get(pack) ?? 0) + 1);
      slice = (slice + count) % scrubDays;
      left -= count;
      scrubbedAt = at(now);
    }
    assert.equal(read.size, packs.length);
    assert.ok([...read.values()].every((times) => times === 1));
  }
});

test("slices are of about the same size, and nothing is due twice on a day", () => {
  const sizes = Array.from({ length: scrubDays }, () => 0);
  for (let i = 0; i < 6000; i++) sizes[sliceOf(nameOf(i))] = (sizes[sliceOf(nameOf(i))] ?? 0) + 1;
  assert.ok(Math.min(...sizes) > 100 && Math.max(...sizes) < 300, sizes.join());
  assert.deepEqual([slicesDue(at(0), at(0.9)), slicesDue(at(0), at(1)), slicesDue(at(0), at(400))], [0, 1, scrubDays]);
});

test("a repack is due once a day, and only after a change", () => {
  assert.equal(isRepackDue(null, null, at(0)), false);
  assert.equal(isRepackDue(null, at(0), at(0)), true);
  assert.equal(isRepackDue(at(1), at(0), at(9)), false);
  assert.equal(isRepackDue(at(1), at(1.5), at(1.9)), false);
  assert.equal(isRepackDue(at(1), at(1.5), at(2)), true);
});
