/**
 * Which snapshots of a source go, and why the others stay. Pure: times come in as numbers, nothing is read.
 *
 * The order of the rules, the stronger first:
 *
 *   hold, lock, open restore, frozen source, younger than 14 days or than the floor   it stays
 *   older than the ceiling, and owners were mailed 30 days before                      it goes
 *   newest of its source, newest good of its source                                    it stays
 *   a rule of the policy keeps it, or the policy has no rule                           it stays
 *   otherwise                                                                          it goes
 *
 * Days, weeks, months and years are those of Istanbul. Rules that count never count snapshots but days, weeks, months and years that
 * have one, and keep the first and the last snapshot of a day. So many snapshots on one day push out nothing. A suspicious snapshot
 * counts for no rule, and while one waits for a person nothing of its source goes.
 */

export const countRules = [
  "keep_last",
  "keep_hourly",
  "keep_daily",
  "keep_weekly",
  "keep_monthly",
  "keep_yearly",
] as const;
export type CountRule = (typeof countRules)[number];

/** Null: the policy does not have the rule. */
export type Policy = Readonly<Record<CountRule | "keep_within_days" | "floor_days" | "ceiling_days", number | null>>;

export const policyFields = [...countRules, "keep_within_days", "floor_days", "ceiling_days"] as const;

/** Without rules everything stays. */
export const noPolicy: Policy = {
  ...{ keep_last: null, keep_hourly: null, keep_daily: null, keep_weekly: null, keep_monthly: null },
  ...{ keep_yearly: null, keep_within_days: null, floor_days: null, ceiling_days: null },
};

/** The contract's: nothing younger expires, whatever a policy says. */
export const youngDays = 14;
/** The contract's: owners are mailed so long before a ceiling removes something. */
export const noticeDays = 30;

/** A snapshot as the rules see it. Times are milliseconds since 1970. */
export interface Kept {
  readonly id: string;
  readonly completedAt: number;
  readonly isHeld: boolean;
  readonly lockedUntil: number | null;
  /** Without known damage. */
  readonly isGood: boolean;
  /** It lost or changed most files, and nobody has accepted it. */
  readonly isSuspicious: boolean;
  /** A restore needs its content, or somebody reads it. */
  readonly isPinned: boolean;
  /** Its source or its vault was deleted by a person, 72 hours ago. */
  readonly isDeleted: boolean;
  /** Until then owners can act on the mail about the ceiling; null: no mail was sent. */
  readonly noticeEndsAt: number | null;
}

export const reasons = [
  ...(["hold", "lock", "restore", "frozen", "young", "floor"] as const),
  ...(["newest", "newest_good", "no_rule"] as const),
  ...countRules,
  "keep_within_days",
] as const;
export type Reason = (typeof reasons)[number];

export interface Decision {
  readonly id: string;
  /** What removes it; null: it stays. */
  readonly cause: "policy" | "ceiling" | "deletion" | null;
  /** Every reason to keep it, the strongest first. If it goes, those that did not help. */
  readonly reasons: readonly Reason[];
  /** Owners must be mailed now, because a ceiling will remove it. */
  readonly isNoticeDue: boolean;
  /** The mail about the ceiling is out of date: another policy holds now. */
  readonly isNoticeStale: boolean;
}

/** Decides about all snapshots of one source. The answer is in the order of time, the oldest first. */
export function decide(snapshots: readonly Kept[], policy: Policy, now: number): readonly Decision[] {
  const oldestFirst = [...snapshots].sort(byTime);
  const counted = oldestFirst.filter(({ isSuspicious }) => !isSuspicious);
  const kept = keptByRules(counted, policy);
  const isFrozen = counted.length < oldestFirst.length;
  const newest = oldestFirst.at(-1)?.id;
  const newestGood = counted.findLast(({ isGood }) => isGood)?.id;
  const hasRule = [...countRules, "keep_within_days" as const].some((rule) => policy[rule] !== null);
  const today = dayOf(now);
  return oldestFirst.map((one) => {
    if (one.isDeleted) return decideDeleted(one, policy, now);
    const age = today - dayOf(one.completedAt);
    const firm: Reason[] = [];
    if (one.isHeld) firm.push("hold");
    if ((one.lockedUntil ?? 0) > now) firm.push("lock");
    if (one.isPinned) firm.push("restore");
    if (isFrozen) firm.push("frozen");
    if (age <= youngDays) firm.push("young");
    if (age <= (policy.floor_days ?? -1)) firm.push("floor");
    const ceiling = policy.ceiling_days ?? Number.POSITIVE_INFINITY;
    const wasNoticed = one.noticeEndsAt !== null && one.noticeEndsAt <= now;
    const weak: Reason[] = [];
    if (one.id === newest) weak.push("newest");
    if (one.id === newestGood) weak.push("newest_good");
    if (!hasRule) weak.push("no_rule");
    weak.push(...(kept.get(one.id) ?? []));
    if (!one.isSuspicious && policy.keep_within_days !== null && age <= policy.keep_within_days)
      weak.push("keep_within_days");
    const isOver = age > ceiling && wasNoticed;
    const cause = firm.length > 0 ? null : isOver ? "ceiling" : weak.length > 0 ? null : "policy";
    const isNoticeDue = age > ceiling - noticeDays && one.noticeEndsAt === null;
    const isNoticeStale = age <= ceiling - noticeDays && one.noticeEndsAt !== null;
    return { id: one.id, cause, reasons: [...firm, ...weak], isNoticeDue, isNoticeStale };
  });
}

/** Of a deleted source a hold, a lock and the floor keep a snapshot, and nothing else: a person has decided, and owners knew for 72 hours. */
function decideDeleted(one: Kept, policy: Policy, now: number): Decision {
  const kept: Reason[] = [];
  if (one.isHeld) kept.push("hold");
  if ((one.lockedUntil ?? 0) > now) kept.push("lock");
  if (dayOf(now) - dayOf(one.completedAt) <= (policy.floor_days ?? -1)) kept.push("floor");
  const cause = kept.length > 0 ? null : "deletion";
  return { id: one.id, cause, reasons: kept, isNoticeDue: false, isNoticeStale: false };
}

/** When a ceiling removes a snapshot about which owners are mailed now. */
export function noticeEnd(completedAt: number, ceilingDays: number, now: number): number {
  return Math.max(startOfDay(dayOf(completedAt) + ceilingDays + 1), startOfDay(dayOf(now) + noticeDays + 1));
}

/** Which rules keep which snapshots; of snapshots in the order of time. */
function keptByRules(oldestFirst: readonly Kept[], policy: Policy): ReadonlyMap<string, readonly Reason[]> {
  const kept = new Map<string, Reason[]>();
  const days = [...Map.groupBy(oldestFirst, ({ completedAt }) => dayOf(completedAt))].sort(([a], [b]) => b - a);
  for (const rule of countRules) {
    const periods = new Set<number>();
    for (const [day, ofDay] of days) {
      const period = periodOf(rule, day);
      // The newest day stands for its week, month or year.
      if (periods.has(period)) continue;
      if (periods.size >= (policy[rule] ?? 0)) break;
      periods.add(period);
      for (const { id } of rule === "keep_hourly" ? lastOfHours(ofDay) : [ofDay[0], ofDay.at(-1)].filter(isThere))
        if (!kept.get(id)?.includes(rule)) kept.set(id, [...(kept.get(id) ?? []), rule]);
    }
  }
  return kept;
}

/** The last snapshot of every hour, and the first of the day. */
function lastOfHours(ofDay: readonly Kept[]): readonly Kept[] {
  const hours = Map.groupBy(ofDay, ({ completedAt }) => Math.floor((completedAt + offsetMs) / hourMs));
  return [ofDay[0], ...[...hours.values()].map((ofHour) => ofHour.at(-1))].filter(isThere);
}

function isThere<T>(one: T | undefined): one is T {
  return one !== undefined;
}

function byTime(a: Kept, b: Kept): number {
  return a.completedAt - b.completedAt || (a.id < b.id ? -1 : 1);
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Istanbul has this offset all year, since before any snapshot. */
const offsetMs = 3 * hourMs;

/** The number of a day in Istanbul, counted from 1970. */
export function dayOf(time: number): number {
  return Math.floor((time + offsetMs) / dayMs);
}

/** When a day in Istanbul begins. */
export function startOfDay(day: number): number {
  return day * dayMs - offsetMs;
}

function periodOf(rule: CountRule, day: number): number {
  // Day 0 was a Thursday, and weeks begin on Monday.
  if (rule === "keep_weekly") return Math.floor((day + 3) / 7);
  const date = new Date(day * dayMs);
  if (rule === "keep_monthly") return date.getUTCFullYear() * 12 + date.getUTCMonth();
  if (rule === "keep_yearly") return date.getUTCFullYear();
  return day;
}

/**
 * Whether a policy never removes a snapshot earlier than another one, whatever snapshots there are and will be. Judged by the rules
 * alone: a policy that happens to keep the same snapshots today can remove others tomorrow.
 */
export function removesNothingEarlier(before: Policy, after: Policy): boolean {
  if ((after.floor_days ?? 0) < (before.floor_days ?? 0)) return false;
  if ((after.ceiling_days ?? Number.POSITIVE_INFINITY) < (before.ceiling_days ?? Number.POSITIVE_INFINITY))
    return false;
  const keeping = [...countRules, "keep_within_days" as const];
  const isWithoutRule = (policy: Policy) => keeping.every((rule) => policy[rule] === null);
  if (isWithoutRule(after)) return true;
  if (isWithoutRule(before)) return false;
  return keeping.every((rule) => (after[rule] ?? -1) >= (before[rule] ?? -1));
}

/** The contract's: of a vault's snapshots so many go on one day without a person. */
const dailyShare = 10;

/** How many snapshots of a vault may still go today. `total` are those that it has now. A small vault loses one a day. */
export function leftForToday(total: number, goneToday: number): number {
  return Math.max(0, Math.max(1, Math.floor((total + goneToday) / dailyShare)) - goneToday);
}

/** The contract's: more than half of the files before, and at least so many. */
const minSuspiciousFiles = 50;

/** Whether a snapshot that lost or changed so many of the files before it is suspicious. */
export function isSuspicious(filesBefore: number, lost: number, changed: number): boolean {
  const touched = lost + changed;
  return touched >= minSuspiciousFiles && touched * 2 > filesBefore;
}

/** The contract's: an act that can remove a snapshot earlier waits so long. */
export const waitMs = 72 * hourMs;
/** The contract's. */
export const maxLockYears = 11;

/** The last time to which a snapshot can be locked now. */
export function latestLock(now: Date): Date {
  const latest = new Date(now);
  latest.setUTCFullYear(latest.getUTCFullYear() + maxLockYears);
  return latest;
}
