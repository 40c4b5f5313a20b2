/** The light of a source: whether its backups come as expected. */

import { type RawBuilder, sql } from "kysely";

/** Better first. */
export const freshnessValues = ["ok", "late", "never"] as const;
export type Freshness = (typeof freshnessValues)[number];

/** Of a row of `sources` under that name: 0 never, 1 late, 2 ok. The worst comes first. */
export function freshnessRank(table: string, now: Date): RawBuilder<number> {
  const column = (name: string) => sql.ref(`${table}.${name}`);
  return sql<number>`case
    when ${column("last_good_at")} is null then 0
    when ${column("last_good_at")} + make_interval(secs => ${column("expected_every_s")}) < ${now}::timestamptz then 1
    else 2 end`;
}

/** The value that the API shows for a rank. */
export function freshnessOf(rank: RawBuilder<number>): RawBuilder<Freshness> {
  return sql<Freshness>`(array['never', 'late', 'ok'])[${rank} + 1]`;
}

/** What the sources of a vault say together. */
export interface VaultSummary {
  /** The worst of its sources; `never` without one. */
  readonly freshness: Freshness;
  /** Sorts the worst first. */
  readonly freshness_rank: number;
  readonly last_snapshot_id: string | null;
  readonly last_snapshot_status: string | null;
  readonly last_snapshot_completed_at: Date | null;
  readonly last_good_at: Date | null;
  /** Bytes of the files of the last completed snapshot of each source. */
  readonly summed_bytes: number | null;
}

/** A table with one row, the {@link VaultSummary} of the vault, for a lateral join. */
export function summaryOfVault(vaultId: string, now: Date): RawBuilder<VaultSummary> {
  const newest = sql`(array_agg(s order by s.last_snapshot_id desc) filter (where s.last_snapshot_id is not null))[1]`;
  const worst = sql<number>`coalesce(min(${freshnessRank("s", now)}), 0)`;
  return sql<VaultSummary>`(
    select
      ${freshnessOf(worst)} as freshness, ${worst} as freshness_rank,
      (${newest}).last_snapshot_id, (${newest}).last_snapshot_status, (${newest}).last_snapshot_completed_at,
      max(s.last_good_at) as last_good_at, sum(s.size_bytes)::bigint as summed_bytes
    from sources s where s.vault_id = ${sql.ref(vaultId)} and s.deleted_at is null)`;
}
