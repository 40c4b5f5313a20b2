/** The nights of taxpayers and sources, from the rows that the database has of them. */

import type { NightRow, NightSource, NightSubject } from "./night-store.ts";
import { countStates, type NightState, nightState, worstOf } from "./rules.ts";

export interface Nights {
  readonly subject: NightSubject;
  /** One per day. */
  readonly states: readonly NightState[];
  readonly counts: Readonly<Record<NightState, number>>;
  readonly lastGoodAt: Date | null;
}

export function nightsOf(
  subjects: readonly NightSubject[],
  sources: readonly NightSource[],
  rows: readonly NightRow[],
  { starts, now }: { readonly starts: readonly Date[]; readonly now: Date },
): Nights[] {
  const rowsOf = Map.groupBy(rows, (row) => row.source_id);
  const byVault = Map.groupBy(sources, (source) => source.vault_id);
  const byId = new Map(sources.map((source) => [source.id, source]));
  return subjects.map((subject) => {
    const own =
      subject.kind === "taxpayer" ? (byVault.get(subject.vault_id) ?? []) : [byId.get(subject.id) ?? []].flat();
    const ofSources = own.map((source) => statesOf(source, rowsOf.get(source.id) ?? [], starts, now));
    const states = starts.slice(0, -1).map((_, day) => worstOf(ofSources.map((all) => all[day] ?? "none")));
    const good = own.map(({ last_good_at: at }) => at).filter((at) => at !== null);
    const lastGoodAt = good.toSorted((a, b) => b.getTime() - a.getTime())[0] ?? null;
    return { subject, states, counts: countStates(states), lastGoodAt };
  });
}

/** The states of one source, day by day. */
function statesOf(source: NightSource, rows: readonly NightRow[], starts: readonly Date[], now: Date): NightState[] {
  const byDay = new Map(rows.map((row) => [row.day, row]));
  let goodAt = source.good_before;
  return starts.slice(0, -1).map((start, day) => {
    // A calendar may show days to come. Nothing is late on them yet.
    if (start > now) return "none";
    const row = byDay.get(day);
    const end = starts[day + 1] ?? now;
    const facts = row && {
      ...{ isGood: row.is_good, isChanged: row.is_changed, hasFailed: row.has_failed, isOpen: row.is_open },
    };
    const state = nightState(facts, { dueAt: dueAt(source, goodAt), until: end < now ? end : now });
    if (row?.good_at) goodAt = row.good_at;
    return state;
  });
}

/** When a snapshot is expected: some time after the last one, or after the source was made. */
function dueAt({ expected_every_s: seconds, created_at: createdAt }: NightSource, goodAt: Date | null): Date | null {
  return seconds === null ? null : new Date((goodAt ?? createdAt).getTime() + seconds * 1000);
}
