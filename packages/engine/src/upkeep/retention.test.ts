import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../testing/random-tree.ts";
import type { RetentionSnapshot } from "./retention.ts";
import { planRetention } from "./retention.ts";

const day = 86_400_000;
const hour = 3_600_000;
const start = Date.UTC(2026, 0, 1, 0, 0, 0);
const none = { expiresAt: null, lockedUntil: null, hold: false };

const nightly = (count: number, source = "s"): RetentionSnapshot[] =>
  Array.from({ length: count }, (_, i) => ({
    id: `${source}${i}`,
    source,
    completedAt: start + i * day,
    retention: none,
  }));

test("daily, weekly, monthly and yearly keep the newest of each period", () => {
  const snapshots = nightly(400);
  const { keep, remove } = planRetention(snapshots, { daily: 7, weekly: 4, monthly: 12, yearly: 2 }, start + 400 * day);
  assert.equal(keep.length + remove.length, 400);
  const reasons = (name: string) => keep.filter((each) => each.reasons.includes(name as never)).length;
  assert.deepEqual([reasons("daily"), reasons("weekly"), reasons("monthly"), reasons("yearly")], [7, 4, 12, 2]);
});

test("a day is a day in Istanbul: 22:00 UTC belongs to the next one", () => {
  const at = (hours: number, id: string): RetentionSnapshot => ({
    id,
    source: "s",
    completedAt: start + hours * hour,
    retention: none,
  });
  const snapshots = [at(10, "noon"), at(20, "late evening"), at(22, "after midnight")];
  const { keep } = planRetention(snapshots, { daily: 2 }, start + 2 * day);
  assert.deepEqual(
    keep.map(({ id }) => id),
    ["after midnight", "late evening"],
  );
});

test("the newest of every source, held and locked ones are never removed, whatever the policy", () => {
  for (let seed = 1; seed <= 500; seed++) {
    const random = new SeededRandom(seed);
    const now = start + random.below(1000) * day;
    const snapshots: RetentionSnapshot[] = Array.from({ length: 1 + random.below(40) }, (_, i) => ({
      id: `x${i}`,
      source: `s${random.below(4)}`,
      completedAt: start + random.below(900) * day,
      retention: {
        expiresAt: null,
        lockedUntil: random.chance(20) ? start + random.below(1500) * day : null,
        hold: random.chance(10),
      },
    }));
    const policy = { last: random.below(3), daily: random.below(5), monthly: random.below(3) };
    const removed = new Set(planRetention(snapshots, policy, now).remove);
    for (const source of new Set(snapshots.map((each) => each.source))) {
      const own = snapshots.filter((each) => each.source === source);
      const newest = Math.max(...own.map((each) => each.completedAt));
      assert.ok(
        own.some((each) => each.completedAt === newest && !removed.has(each.id)),
        `seed ${seed}`,
      );
    }
    for (const { id, retention } of snapshots) {
      if (retention.hold || (retention.lockedUntil ?? 0) > now) assert.equal(removed.has(id), false, `seed ${seed}`);
    }
  }
});

test("a policy without a rule removes nothing but what has expired by itself", () => {
  const at = (id: string, days: number, expiresAt: number | null = null): RetentionSnapshot => ({
    id,
    source: "s",
    completedAt: start + days * day,
    retention: { ...none, expiresAt },
  });
  const snapshots = [at("a", 1), at("b", 2), at("old", 3, start + 4 * day), at("c", 5)];
  assert.deepEqual(planRetention(snapshots, {}, start + 10 * day).remove, ["old"]);
  assert.deepEqual(planRetention(snapshots, { last: undefined }, start + 10 * day).remove, ["old"]);
  assert.deepEqual(planRetention(snapshots, { last: 0 }, start + 10 * day).remove, ["old", "b", "a"]);
});

test("a damaged newest snapshot does not cost the newest good one", () => {
  const at = (id: string, days: number, damaged: boolean): RetentionSnapshot => ({
    id,
    source: "s",
    completedAt: start + days * day,
    retention: none,
    damaged,
  });
  const snapshots = [at("older", 1, false), at("good", 2, false), at("torn", 3, true), at("newest", 4, true)];
  const { keep, remove } = planRetention(snapshots, { last: 1 }, start + 10 * day);
  assert.deepEqual(
    keep.map(({ id, reasons }) => [id, ...reasons]),
    [
      ["newest", "newest", "last"],
      ["good", "newest_good"],
    ],
  );
  assert.deepEqual(remove, ["torn", "older"]);
});
