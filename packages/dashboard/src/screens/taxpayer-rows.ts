/** Taxpayers with their nights and sources, as the list shows them: what is red first, then by the Turkish alphabet. */

import type { Nights, Source, Taxpayer } from "@emanet/client/source";
import type { NightBoard } from "../api/queries.ts";
import { collator, folded } from "../format.ts";
import { type Status, statusOf } from "../parts/glyph.tsx";

export interface TaxpayerRow {
  readonly taxpayer: Taxpayer;
  readonly status: Status;
  readonly states: readonly string[];
  readonly sources: readonly Source[];
}

export const filters = ["all", "failed", "late", "running", "ok"] as const;
export type Filter = (typeof filters)[number];

const rank: Readonly<Record<Status, number>> = { failed: 0, late: 1, running: 2, none: 3, ok: 4, unchanged: 4 };

export function rowsOf(taxpayers: readonly Taxpayer[], night: NightBoard, sources: readonly Source[]): TaxpayerRow[] {
  const nights = new Map(night.rows.map((row): [string | null, Nights] => [row.taxpayer_id, row]));
  const byVault = Map.groupBy(sources, (source) => source.vault_id);
  const rows = taxpayers.map((taxpayer): TaxpayerRow => {
    const states = nights.get(taxpayer.id)?.states ?? [];
    return { taxpayer, states, status: statusOf(states.at(-1)), sources: byVault.get(taxpayer.vault_id) ?? [] };
  });
  return rows.sort((a, b) => rank[a.status] - rank[b.status] || collator.compare(a.taxpayer.name, b.taxpayer.name));
}

export function isIn(filter: Filter, { status }: TaxpayerRow): boolean {
  if (filter === "all") return true;
  return filter === "ok" ? status === "ok" || status === "unchanged" : status === filter;
}

export function matches(text: string, { taxpayer, sources }: TaxpayerRow): boolean {
  const wanted = folded(text.trim());
  return (
    wanted === "" || [taxpayer.name, ...sources.map(({ name }) => name)].some((name) => folded(name).includes(wanted))
  );
}

/** The share of nights that went well, of those on which a backup was expected or came. */
export function successOf(rows: readonly TaxpayerRow[]): number | null {
  const states = rows.flatMap((row) => row.states);
  const good = states.filter((state) => state === "ok" || state === "unchanged").length;
  const bad = states.filter((state) => state === "failed" || state === "late").length;
  return good + bad === 0 ? null : good / (good + bad);
}
