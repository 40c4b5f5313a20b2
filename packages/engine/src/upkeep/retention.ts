/**
 * Retention: decides which snapshots a policy keeps, and why. It returns a plan, which is shown before it is applied.
 *
 * No policy can delete these: the newest snapshot of a source, its newest *good* one (without known damage), and snapshots
 * with a hold or a lock. A policy without rules keeps everything that has no expiry. Days, weeks, months and years are in local time, with
 * the given offset from UTC (Istanbul has +180 minutes all year).
 */

import type { SnapshotRow } from "../catalog/catalog.ts";

/** How many of the newest snapshots, and of the newest in each day, week, month and year to keep. */
export interface RetentionPolicy {
  readonly last?: number | undefined;
  readonly daily?: number | undefined;
  readonly weekly?: number | undefined;
  readonly monthly?: number | undefined;
  readonly yearly?: number | undefined;
  /** Keep everything younger than this. */
  readonly withinMs?: number | undefined;
}

export type KeepReason =
  | "newest"
  | "newest_good"
  | "no_rule"
  | "hold"
  | "locked"
  | "last"
  | "daily"
  | "weekly"
  | "monthly"
  | "yearly"
  | "within"
  | "unexpired";

export interface RetentionPlan {
  readonly keep: readonly { readonly id: string; readonly reasons: readonly KeepReason[] }[];
  readonly remove: readonly string[];
}

export interface RetentionSnapshot extends Pick<SnapshotRow, "id" | "source" | "completedAt" | "retention"> {
  /** It has known damage, or a rebuild recovered it incomplete. Then the newest good snapshot is kept too. */
  readonly damaged?: boolean | undefined;
}

const dayMs = 86_400_000;

/** Plans the retention of all sources of a vault. `now` is the service's clock, never a client's. */
export function planRetention(
  snapshots: readonly RetentionSnapshot[],
  policy: RetentionPolicy,
  now: number,
  utcOffsetMinutes = 180,
): RetentionPlan {
  const keep: { id: string; reasons: KeepReason[] }[] = [];
  const remove: string[] = [];
  for (const source of Map.groupBy(snapshots, (each) => each.source).values()) {
    const newestFirst = [...source].sort((a, b) => b.completedAt - a.completedAt || (a.id < b.id ? 1 : -1));
    const reasons = reasonsOf(newestFirst, policy, now, utcOffsetMinutes * 60_000);
    for (const { id } of newestFirst) {
      const own = reasons.get(id) ?? [];
      if (own.length > 0) keep.push({ id, reasons: own });
      else remove.push(id);
    }
  }
  return { keep, remove };
}

function reasonsOf(
  newestFirst: readonly RetentionSnapshot[],
  policy: RetentionPolicy,
  now: number,
  offsetMs: number,
): Map<string, KeepReason[]> {
  const reasons = new Map<string, KeepReason[]>();
  const add = (id: string, reason: KeepReason) => reasons.set(id, [...(reasons.get(id) ?? []), reason]);
  const good = newestFirst.find(({ damaged }) => damaged !== true);
  const hasRule = Object.values(policy).some((value) => value !== undefined);
  for (const [i, { id, completedAt, retention }] of newestFirst.entries()) {
    if (i === 0) add(id, "newest");
    else if (id === good?.id) add(id, "newest_good");
    if (!hasRule && retention.expiresAt === null) add(id, "no_rule");
    if (retention.hold) add(id, "hold");
    if ((retention.lockedUntil ?? 0) > now) add(id, "locked");
    if (i < (policy.last ?? 0)) add(id, "last");
    if (policy.withinMs !== undefined && completedAt > now - policy.withinMs) add(id, "within");
    if ((retention.expiresAt ?? 0) > now) add(id, "unexpired");
  }
  for (const [reason, period] of Object.entries(periods) as [keyof typeof periods, (local: number) => string][]) {
    const seen = new Set<string>();
    for (const { id, completedAt } of newestFirst) {
      const key = period(completedAt + offsetMs);
      if (seen.has(key) || seen.size >= (policy[reason] ?? 0)) continue;
      seen.add(key);
      add(id, reason);
    }
  }
  return reasons;
}

/** The name of the period that a local time is in. */
const periods = {
  daily: (local: number) => String(Math.floor(local / dayMs)),
  // Day 0 of 1970 was a Thursday; weeks start on Monday.
  weekly: (local: number) => String(Math.floor((Math.floor(local / dayMs) + 3) / 7)),
  monthly: (local: number) => new Date(local).toISOString().slice(0, 7),
  yearly: (local: number) => new Date(local).toISOString().slice(0, 4),
} as const;
