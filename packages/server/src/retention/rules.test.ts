import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../testing/seeded-random.ts";
import {
  countRules,
  decide,
  isSuspicious,
  type Kept,
  latestLock,
  leftForToday,
  noPolicy,
  noticeEnd,
  type Policy,
  policyFields,
  removesNothingEarlier,
} from "./rules.ts";

const hour = 3_600_000;
const day = 24 * hour;
const now = Date.parse("2026-11-17T10:00:00Z");

/** A snapshot so many days before now. */
function at(daysAgo: number, more: Partial<Kept> = {}): Kept {
  const completedAt = now - daysAgo * day;
  return {
    ...{ id: `${completedAt}`.padStart(20, "0"), completedAt, isHeld: false, lockedUntil: null, isGood: true },
    ...{ isSuspicious: false, isPinned: false, isDeleted: false, noticeEndsAt: null },
    ...more,
  };
}

const policy = (rules: Partial<Policy>): Policy => ({ ...noPolicy, ...rules });
const gone = (snapshots: readonly Kept[], rules: Partial<Policy>, when = now) =>
  decide(snapshots, policy(rules), when)
    .filter(({ cause }) => cause !== null)
    .map(({ id }) => id);
const reasonsFor = (snapshots: readonly Kept[], rules: Partial<Policy>, id: string) =>
  decide(snapshots, policy(rules), now).find((one) => one.id === id)?.reasons;

test("without rules everything stays", () => {
  assert.deepEqual(gone([at(4000), at(1)], {}), []);
  assert.deepEqual(reasonsFor([at(4000), at(1)], {}, at(4000).id), ["no_rule"]);
});

test("nothing younger than 14 days goes, by days in Istanbul", () => {
  const newer = at(0);
  // 21:00 UTC is midnight in Istanbul.
  const evening = Date.parse("2026-11-02T20:59:59.999Z");
  const midnight = evening + 1;
  const snapshots = [at(0, { completedAt: evening, id: "a" }), at(0, { completedAt: midnight, id: "b" }), newer];
  assert.deepEqual(gone(snapshots, { keep_last: 1 }), ["a"]);
  assert.deepEqual(reasonsFor(snapshots, { keep_last: 1 }, "b"), ["young"]);
});

test("a flood of one day pushes out nothing: days are counted, and first and last of a day stay", () => {
  const flood = Array.from({ length: 500 }, (_, i) => at(15 + (i % 90) / 1440, { id: `f${i}` }));
  const old = [at(16), at(17), at(18)];
  const left = new Set(gone([...flood, ...old], { keep_last: 4 }));
  assert.ok(old.every(({ id }) => !left.has(id)));
  assert.equal(left.size, 498, "the first and the last of the flood stay too");
});

test("hold, lock, restore and floor stay, whatever the rules say; also against a ceiling", () => {
  const shields: Partial<Kept>[] = [{ isHeld: true }, { lockedUntil: now + 1 }, { isPinned: true }];
  for (const more of shields) {
    const one = at(400, { ...more, noticeEndsAt: now });
    assert.deepEqual(gone([one, at(0)], { keep_last: 1, ceiling_days: 31 }), [], JSON.stringify(more));
  }
  assert.deepEqual(gone([at(400, { lockedUntil: now }), at(0)], { keep_last: 1 }), [at(400).id], "the lock has ended");
  assert.deepEqual(gone([at(30), at(0)], { keep_last: 1, floor_days: 30 }), []);
  assert.deepEqual(gone([at(31), at(0)], { keep_last: 1, floor_days: 30 }), [at(31).id]);
});

test("a ceiling removes the newest good one too, 30 days after the mail and not before", () => {
  const rules = { ceiling_days: 60 };
  const last = at(61);
  const noticeOf = (one: Kept) => decide([one], policy(rules), now)[0];
  assert.deepEqual([noticeOf(last)?.cause, noticeOf(last)?.isNoticeDue], [null, true]);
  assert.deepEqual(noticeOf(last)?.reasons, ["newest", "newest_good", "no_rule"]);
  assert.equal(noticeOf({ ...last, noticeEndsAt: now + 1 })?.cause, null);
  assert.equal(noticeOf({ ...last, noticeEndsAt: now })?.cause, "ceiling");
  assert.equal(noticeOf(at(60, { noticeEndsAt: now }))?.cause, null, "not over it yet");
  assert.equal(noticeOf(at(30))?.isNoticeDue, false);
  assert.equal(noticeOf(at(31))?.isNoticeDue, true, "30 days ahead");
});

test("the newest good one stays when newer ones are damaged", () => {
  const snapshots = [at(50), at(40, { isGood: false }), at(30, { isGood: false })];
  assert.deepEqual(gone(snapshots, { keep_last: 1 }), [at(40).id]);
  assert.deepEqual(reasonsFor(snapshots, { keep_last: 1 }, at(50).id), ["newest_good"]);
});

test("a suspicious snapshot counts for no rule and freezes its source", () => {
  const snapshots = [at(50), at(40), at(30, { isSuspicious: true })];
  const decisions = decide(snapshots, policy({ keep_last: 1, ceiling_days: 31 }), now);
  assert.ok(decisions.every(({ cause, reasons }) => cause === null && reasons.includes("frozen")));
  assert.deepEqual(decisions[1]?.reasons, ["frozen", "newest_good", "keep_last"]);
  assert.deepEqual(decisions[2]?.reasons, ["frozen", "newest"]);
});

test("weeks, months and years: the newest day of each stands for it; hours within days", () => {
  // 2026-11-16 is a Monday.
  const on = (text: string) => at(0, { id: text, completedAt: Date.parse(text) });
  const days = ["2026-09-27", "2026-09-28", "2026-10-04", "2026-10-05", "2026-10-11", "2026-10-12"];
  const snapshots = days.map((text) => on(`${text}T09:00Z`));
  const keptBy = (rules: Partial<Policy>) => {
    const left = gone(snapshots, rules);
    return days.filter((text) => !left.includes(`${text}T09:00Z`));
  };
  assert.deepEqual(keptBy({ keep_weekly: 3 }), ["2026-10-04", "2026-10-11", "2026-10-12"]);
  assert.deepEqual(keptBy({ keep_monthly: 2 }), ["2026-09-28", "2026-10-12"]);
  assert.deepEqual(keptBy({ keep_yearly: 5 }), ["2026-10-12"]);
  const hours = ["08:10", "08:50", "09:05", "09:20", "09:40", "10:30"].map((text) => on(`2026-10-12T${text}Z`));
  assert.deepEqual(gone(hours, { keep_hourly: 1 }), ["2026-10-12T09:05Z", "2026-10-12T09:20Z"]);
  assert.deepEqual(gone(hours, { keep_daily: 1 }).length, 4);
});

test("the same month of another year is another month", () => {
  const on = (text: string) => at(0, { id: text, completedAt: Date.parse(`${text}T09:00Z`) });
  const snapshots = ["2024-10-12", "2025-10-12", "2026-10-12"].map(on);
  assert.deepEqual(gone(snapshots, { keep_monthly: 2 }), ["2024-10-12"]);
});

test("a mail about a ceiling is out of date once the ceiling is more than 30 days away, or there is none", () => {
  const isStale = (one: Kept, rules: Partial<Policy>) => decide([one], policy(rules), now)[0]?.isNoticeStale;
  const mailed = { noticeEndsAt: now + day };
  assert.equal(isStale(at(30, mailed), { ceiling_days: 60 }), true);
  assert.equal(isStale(at(31, mailed), { ceiling_days: 60 }), false);
  assert.equal(isStale(at(400, mailed), {}), true);
  assert.equal(isStale(at(30), { ceiling_days: 60 }), false, "nobody was mailed");
});

test("a ceiling removes at the end of its last day, and never before 30 whole days after the mail", () => {
  const midnight = (text: string) => Date.parse(`${text}T00:00:00+03:00`);
  assert.equal(noticeEnd(Date.parse("2026-10-01T20:59:59Z"), 60, now), midnight("2026-12-18"), "30 days are later");
  assert.equal(noticeEnd(Date.parse("2026-11-10T20:59:59Z"), 60, now), midnight("2027-01-10"), "the ceiling is later");
  assert.equal(
    noticeEnd(Date.parse("2026-11-10T21:00:00Z"), 60, now),
    midnight("2027-01-11"),
    "a day of Istanbul later",
  );
});

test("of a deleted source only hold, lock and floor keep a snapshot", () => {
  const deleted = (more: Partial<Kept>) => at(1, { isDeleted: true, isSuspicious: true, isPinned: true, ...more });
  const causeOf = (more: Partial<Kept>, rules: Partial<Policy> = {}) =>
    decide([deleted(more)], policy({ keep_last: 5, keep_within_days: 30, ...rules }), now)[0]?.cause;
  assert.equal(causeOf({}), "deletion");
  assert.equal(causeOf({ isHeld: true }), null);
  assert.equal(causeOf({ lockedUntil: now + 1 }), null);
  assert.equal(causeOf({ lockedUntil: now }), "deletion");
  assert.equal(causeOf({}, { floor_days: 1 }), null);
  assert.equal(causeOf({ completedAt: now - 2 * day }, { floor_days: 1 }), "deletion");
});

test("keep_within_days keeps so many whole days", () => {
  assert.deepEqual(gone([at(21), at(20), at(0)], { keep_within_days: 20 }), [at(21).id]);
});

test("a tenth of a vault a day, one of a small vault", () => {
  assert.deepEqual([leftForToday(100, 0), leftForToday(90, 10), leftForToday(95, 5)], [10, 0, 5]);
  assert.deepEqual([leftForToday(5, 0), leftForToday(4, 1), leftForToday(19, 0), leftForToday(0, 0)], [1, 0, 1, 1]);
});

test("suspicious: more than half, and at least 50", () => {
  assert.deepEqual(
    [isSuspicious(98, 25, 25), isSuspicious(100, 25, 25), isSuspicious(60, 49, 0), isSuspicious(50, 0, 50)],
    [true, false, false, true],
  );
});

test("a lock ends at most eleven years from now", () => {
  assert.equal(latestLock(new Date("2026-11-17T00:00:00Z")).toISOString(), "2037-11-17T00:00:00.000Z");
});

/** The same rules, said again for one snapshot at a time, without sorting or grouping. */
function oracle(snapshots: readonly Kept[], rules: Policy, one: Kept, when: number): string | null {
  const istanbul = (time: number) => new Date(time + 3 * hour).toISOString();
  const dayText = (time: number) => istanbul(time).slice(0, 10);
  const days = (time: number) => Math.round((Date.parse(dayText(when)) - Date.parse(dayText(time))) / day);
  const later = (a: Kept, b: Kept) => a.completedAt > b.completedAt || (a.completedAt === b.completedAt && a.id > b.id);
  const age = days(one.completedAt);
  if (one.isHeld || one.isPinned || (one.lockedUntil !== null && one.lockedUntil > when)) return null;
  if (snapshots.some((each) => each.isSuspicious) || age < 15) return null;
  if (rules.floor_days !== null && age <= rules.floor_days) return null;
  if (rules.ceiling_days !== null && age > rules.ceiling_days) {
    if (one.noticeEndsAt !== null && one.noticeEndsAt <= when) return "ceiling";
  }
  if (!snapshots.some((each) => later(each, one))) return null;
  if (one.isGood && !snapshots.some((each) => each.isGood && later(each, one))) return null;
  if (policyFields.every((field) => rules[field] === null || field === "floor_days" || field === "ceiling_days"))
    return null;
  if (rules.keep_within_days !== null && age <= rules.keep_within_days) return null;
  const monday = (time: number) => {
    const date = new Date(`${dayText(time)}T00:00Z`);
    return new Date(date.getTime() - ((date.getUTCDay() + 6) % 7) * day).toISOString();
  };
  const names = {
    ...{ keep_last: dayText, keep_hourly: dayText, keep_daily: dayText, keep_weekly: monday },
    ...{ keep_monthly: (t: number) => dayText(t).slice(0, 7), keep_yearly: (t: number) => dayText(t).slice(0, 4) },
  };
  const ofDay = snapshots.filter((each) => dayText(each.completedAt) === dayText(one.completedAt));
  const isFirst = !ofDay.some((each) => later(one, each));
  const isLast = !ofDay.some((each) => later(each, one));
  for (const rule of countRules) {
    const limit = rules[rule];
    if (limit === null) continue;
    const own = names[rule](one.completedAt);
    const newerPeriods = new Set(snapshots.map((each) => names[rule](each.completedAt)).filter((name) => name > own));
    if (newerPeriods.size >= limit) continue;
    const isNewestDay = !snapshots.some(
      (each) => names[rule](each.completedAt) === own && dayText(each.completedAt) > dayText(one.completedAt),
    );
    if (!isNewestDay) continue;
    const ofHour = ofDay.filter(
      (each) => istanbul(each.completedAt).slice(0, 13) === istanbul(one.completedAt).slice(0, 13),
    );
    const isLastOfHour = !ofHour.some((each) => later(each, one));
    if (isFirst || isLast || (rule === "keep_hourly" && isLastOfHour)) return null;
  }
  return "policy";
}

const random = seededRandom(25);
const pick = (below: number) => random.integer(below);
const chance = (share: number) => random.integer(1000) < share * 1000;

function randomPolicy(): Policy {
  const rules = Object.fromEntries(policyFields.map((field) => [field, chance(0.6) ? null : 1 + pick(6)]));
  const days = (most: number) => (chance(0.6) ? null : 1 + pick(most));
  return { ...noPolicy, ...rules, keep_within_days: days(60), floor_days: days(40), ceiling_days: days(90) };
}

function randomSnapshots(): Kept[] {
  const span = 1 + pick(120);
  return Array.from({ length: 1 + pick(30) }, (_, i) =>
    at(0, {
      id: `s${i}`,
      // Whole hours often, so that times are equal and lie on midnights.
      completedAt: now - (chance(0.5) ? pick(span * 24) * hour : pick(span * 24 * 60) * (hour / 60)),
      isHeld: chance(0.05),
      lockedUntil: chance(0.1) ? now + (pick(3) - 1) * day : null,
      isGood: chance(0.9),
      isSuspicious: chance(0.004),
      isPinned: chance(0.05),
      noticeEndsAt: chance(0.3) ? now + (pick(3) - 1) * hour : null,
    }),
  );
}

test("the rules agree with a plain reading of them on random histories", () => {
  const seen = { policy: 0, ceiling: 0, deletion: 0, kept: 0 };
  for (let round = 0; round < 600; round++) {
    const snapshots = randomSnapshots();
    const rules = randomPolicy();
    for (const { id, cause } of decide(snapshots, rules, now)) {
      const one = snapshots.find((each) => each.id === id);
      assert.ok(one !== undefined);
      const expected = oracle(snapshots, rules, one, now);
      assert.equal(cause, expected, JSON.stringify({ round, id, rules, snapshots }));
      seen[cause ?? "kept"]++;
    }
  }
  assert.ok(seen.policy > 500 && seen.ceiling > 100 && seen.kept > 1000, JSON.stringify(seen));
});

test("a policy that is judged to remove nothing earlier removes nothing that the one before keeps, at any later time", () => {
  let compared = 0;
  for (let round = 0; round < 3000; round++) {
    const before = randomPolicy();
    const after = Object.fromEntries(
      policyFields.map((field) => {
        const value = before[field];
        return [field, chance(0.5) ? value : chance(0.3) ? null : Math.max(1, (value ?? 3) + pick(5) - 2)];
      }),
    ) as Policy;
    if (!removesNothingEarlier(before, after)) continue;
    compared++;
    const snapshots = randomSnapshots();
    const when = now + pick(60) * day;
    const old = new Set(decide(snapshots, before, when).flatMap(({ id, cause }) => (cause === null ? [] : [id])));
    for (const { id, cause } of decide(snapshots, after, when))
      assert.ok(cause === null || old.has(id), JSON.stringify({ round, id, before, after }));
  }
  assert.ok(compared > 300, `${compared}`);
});

test("which changes wait: judged by the rule", () => {
  const keeps = (before: Partial<Policy>, after: Partial<Policy>) =>
    removesNothingEarlier(policy(before), policy(after));
  assert.equal(keeps({}, { keep_last: 1000 }), false, "everything was kept before");
  assert.equal(keeps({ keep_last: 3 }, {}), true);
  assert.equal(keeps({ keep_last: 3 }, { keep_daily: 3 }), false, "another rule");
  assert.equal(keeps({ keep_last: 3 }, { keep_last: 4, keep_weekly: 1 }), true);
  assert.equal(keeps({ keep_last: 3 }, { keep_last: 2 }), false);
  assert.equal(keeps({}, { ceiling_days: 5000 }), false);
  assert.equal(keeps({ ceiling_days: 100 }, { ceiling_days: 99 }), false);
  assert.equal(keeps({ ceiling_days: 100 }, { ceiling_days: 100 }), true);
  assert.equal(keeps({ floor_days: 10 }, { floor_days: 9 }), false);
  assert.equal(keeps({ floor_days: 10 }, {}), false);
  assert.equal(keeps({ keep_within_days: 9 }, { keep_within_days: 8 }), false);
});
