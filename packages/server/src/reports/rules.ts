/** What a night was, and when a quota is reached. */

import { addDays, daysBetween } from "./istanbul-days.ts";

export const nightStates = ["ok", "unchanged", "late", "failed", "running", "none"] as const;
export type NightState = (typeof nightStates)[number];

/** What the snapshots of a source that were created on one day became. */
export interface NightFacts {
  /** One was completed. */
  readonly isGood: boolean;
  /** One that was completed differs from the one before it. */
  readonly isChanged: boolean;
  readonly hasFailed: boolean;
  readonly isOpen: boolean;
}

/**
 * The state of a source on a day. `dueAt` is when the next snapshot was expected, by what was completed before the day; null: none was.
 * `until` is the end of the day, or now.
 */
export function nightState(
  facts: NightFacts | undefined,
  { dueAt, until }: { dueAt: Date | null; until: Date },
): NightState {
  if (facts?.isGood === true) return facts.isChanged ? "ok" : "unchanged";
  if (facts?.isOpen === true) return "running";
  if (facts?.hasFailed === true) return "failed";
  return dueAt !== null && dueAt < until ? "late" : "none";
}

/** The worst first. */
const worst: readonly NightState[] = ["failed", "late", "running", "ok", "unchanged", "none"];

/** Of several sources together. */
export function worstOf(states: readonly NightState[]): NightState {
  return worst.find((state) => states.includes(state)) ?? "none";
}

export function countStates(states: readonly NightState[]): Record<NightState, number> {
  const counts = { ok: 0, unchanged: 0, late: 0, failed: 0, running: 0, none: 0 };
  for (const state of states) counts[state]++;
  return counts;
}

/** The pace is that of this many days. */
export const paceDays = 30;
/** What is farther away is no forecast. */
const maxForecastDays = 3_660;

/** The day on which a vault reaches its quota if it goes on like this; null: never, or nobody knows. */
export function quotaReachedOn(
  { quota, stored, today }: { readonly quota: number | null; readonly stored: number; readonly today: string },
  earlier: { readonly day: string; readonly stored: number } | null,
): string | null {
  if (quota === null) return null;
  if (stored >= quota) return today;
  if (earlier === null || earlier.day >= today) return null;
  const perDay = (stored - earlier.stored) / daysBetween(earlier.day, today);
  if (perDay <= 0) return null;
  const days = Math.ceil((quota - stored) / perDay);
  return days > maxForecastDays ? null : addDays(today, days);
}
