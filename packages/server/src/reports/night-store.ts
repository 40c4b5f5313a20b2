/** The SQL of nights: who has a row, their sources, and what their snapshots became. */

import { sql } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { ReadTx } from "../kernel/tx.ts";

/** A taxpayer, or a source in a vault that is no taxpayer's. */
export interface NightSubject {
  readonly id: string;
  readonly kind: "taxpayer" | "source";
  readonly name: string;
  readonly name_order: string;
  readonly vault_id: string;
}

/** By name in the Turkish alphabet. `within` is null for all vaults of the account. */
export async function nightSubjects(
  tx: ReadTx,
  accountId: string,
  within: readonly string[] | null,
  page: PageStart,
): Promise<readonly NightSubject[]> {
  const allowed = within === null ? sql`true` : sql`vault_id = any (${within}::uuid[])`;
  const subjects = sql<NightSubject>`(
    select id, 'taxpayer' as kind, name, name_order, vault_id from taxpayers
    where account_id = ${accountId} and state = 'active' and deleted_at is null and ${allowed}
    union all
    select s.id, 'source', s.name, s.name_order, s.vault_id from (select * from sources where account_id = ${accountId} and deleted_at is null and ${allowed}) s
    join vaults v on v.id = s.vault_id and v.kind <> 'taxpayer')`;
  return pageRows(tx.db.selectFrom(subjects.as<"subjects">("subjects")).selectAll(), page);
}

export interface NightSource {
  readonly id: string;
  readonly vault_id: string;
  readonly expected_every_s: number | null;
  readonly created_at: Date;
  readonly last_good_at: Date | null;
  /** When the last one before the first day was completed. */
  readonly good_before: Date | null;
}

/** The sources of these subjects. */
export async function nightSources(
  tx: ReadTx,
  accountId: string,
  subjects: readonly NightSubject[],
  from: Date,
): Promise<readonly NightSource[]> {
  const vaults = subjects.filter(({ kind }) => kind === "taxpayer").map(({ vault_id: id }) => id);
  const sources = subjects.filter(({ kind }) => kind === "source").map(({ id }) => id);
  const { rows } = await sql<NightSource>`
    select s.id, s.vault_id, s.expected_every_s, s.created_at, s.last_good_at, good.completed_at as good_before
    from sources s
    left join lateral (
      select n.completed_at from snapshots n
      where n.source_id = s.id and n.created_at < ${from} and n.state in ('completed', 'expired')
      order by n.created_at desc, n.id desc limit 1) good on true
    where s.account_id = ${accountId} and s.deleted_at is null and (s.vault_id = any (${vaults}::uuid[]) or s.id = any (${sources}::uuid[]))`.execute(
    tx.db,
  );
  return rows;
}

export interface NightRow {
  readonly source_id: string;
  /** 0 for the first day. */
  readonly day: number;
  readonly is_good: boolean;
  readonly is_changed: boolean;
  readonly has_failed: boolean;
  readonly is_open: boolean;
  readonly good_at: Date | null;
}

/** What the snapshots of each day became. `starts` has the beginning of each day, and the end of the last. */
export async function nightRows(
  tx: ReadTx,
  sourceIds: readonly string[],
  starts: readonly Date[],
): Promise<readonly NightRow[]> {
  const { rows } = await sql<NightRow>`
    select n.source_id, width_bucket(n.created_at, ${starts}::timestamptz[]) - 1 as day,
      bool_or(n.state in ('completed', 'expired')) as is_good,
      bool_or(n.state in ('completed', 'expired') and n.root_hash is distinct from p.root_hash) as is_changed,
      bool_or(n.state = 'failed') as has_failed, bool_or(n.state in ('queued', 'running')) as is_open,
      max(n.completed_at) as good_at
    from snapshots n left join snapshots p on p.id = n.parent_id
    where n.source_id = any (${sourceIds}::uuid[]) and n.state <> 'deleted'
      and n.created_at >= ${starts[0]} and n.created_at < ${starts.at(-1)}
    group by 1, 2`.execute(tx.db);
  return rows;
}
