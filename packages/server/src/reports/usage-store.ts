/** The SQL of usage: the notes of each day, and what is stored now. */

import { sql } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";

/** Notes what is stored in every vault where it has changed. Row access `system`. */
export async function recordUsage(tx: Tx, today: string): Promise<void> {
  await sql`
    insert into vault_usage as u (vault_id, day, account_id, stored_bytes, size_bytes)
    select v.id, ${today}::date, v.account_id, v.stored_bytes, v.size_bytes
    from (select v.id, v.account_id, v.stored_bytes,
        coalesce((select sum(s.size_bytes) from sources s where s.vault_id = v.id and s.deleted_at is null), 0)::bigint as size_bytes
      from vaults v) v
    left join lateral (select l.stored_bytes, l.size_bytes from vault_usage l where l.vault_id = v.id
      order by l.day desc limit 1) last on true
    where (v.stored_bytes, v.size_bytes) is distinct from (last.stored_bytes, last.size_bytes)
    on conflict (vault_id, day) do update set stored_bytes = excluded.stored_bytes, size_bytes = excluded.size_bytes`.execute(
    tx.db,
  );
}

export interface UsageVault {
  readonly id: string;
  readonly name: string;
  readonly name_order: string;
  readonly quota_bytes: number | null;
  readonly stored_bytes: number;
  readonly size_bytes: number;
}

/** What is stored in each vault now. `within` is null for all vaults of the account. */
export async function usageVaults(
  tx: ReadTx,
  accountId: string,
  within: readonly string[] | null,
  page: PageStart,
): Promise<readonly UsageVault[]> {
  let select = tx.db
    .selectFrom("vaults")
    .select(["vaults.id", "vaults.name", "vaults.name_order", "vaults.quota_bytes", "vaults.stored_bytes"])
    .select(
      sql<number>`coalesce((select sum(s.size_bytes) from sources s where s.vault_id = vaults.id and s.deleted_at is null), 0)::bigint`.as(
        "size_bytes",
      ),
    )
    .where("vaults.account_id", "=", accountId)
    .where("vaults.deleted_at", "is", null);
  if (within !== null) select = select.where(sql<boolean>`vaults.id = any (${within}::uuid[])`);
  return pageRows(select, page, "vaults");
}

export interface UsageRow {
  readonly vault_id: string;
  readonly day: string;
  readonly stored_bytes: number;
  readonly size_bytes: number;
}

/** The day of the last note of a vault `v` until a day. Found once per vault: as a condition of a join it was found for each note. */
const lastNoteUntil = (day: string) =>
  sql`(select coalesce(max(l.day), '-infinity') as day from vault_usage l where l.vault_id = v.id and l.day <= ${day}::date)`;

/** What was noted from a day on, and the last that was noted before it, in the order of days. */
export async function usageRows(
  tx: ReadTx,
  accountId: string,
  vaultIds: readonly string[],
  from: string,
): Promise<readonly UsageRow[]> {
  const { rows } = await sql<UsageRow>`
    select u.vault_id, u.day::text as day, u.stored_bytes, u.size_bytes
    from unnest(${vaultIds}::uuid[]) as v (id)
    cross join lateral ${lastNoteUntil(from)} first
    join vault_usage u on u.vault_id = v.id and u.account_id = ${accountId} and u.day >= first.day
    order by u.day`.execute(tx.db);
  return rows;
}

export interface UsageTotal {
  readonly vaults: number;
  readonly stored_bytes: number;
  readonly size_bytes: number;
  readonly quota_bytes: number | null;
}

/** What all vaults store now. A quota is the account's when every vault has one. */
export async function usageTotal(tx: ReadTx, accountId: string, within: readonly string[] | null): Promise<UsageTotal> {
  const allowed = within === null ? sql`true` : sql`v.id = any (${within}::uuid[])`;
  const { rows } = await sql<UsageTotal>`
    select count(*)::int as vaults, coalesce(sum(v.stored_bytes), 0)::bigint as stored_bytes,
      coalesce(sum(s.size_bytes), 0)::bigint as size_bytes,
      case when count(v.quota_bytes) = count(*) then sum(v.quota_bytes)::bigint end as quota_bytes
    from vaults v
    left join (select vault_id, sum(size_bytes) as size_bytes from sources
      where account_id = ${accountId} and deleted_at is null group by vault_id) s on s.vault_id = v.id
    where v.account_id = ${accountId} and v.deleted_at is null and ${allowed}`.execute(tx.db);
  const [total] = rows;
  if (total === undefined) throw new Error("a sum has one row");
  return total;
}

/**
 * The sums over all vaults at the end of each day on which one was noted, from a day on; the first line has what was noted before it, too. Each vault
 * is noted when it changes, so a day's sum is that of the day before and the changes.
 */
export async function usageSums(
  tx: ReadTx,
  accountId: string,
  within: readonly string[] | null,
  from: string,
): Promise<readonly Omit<UsageRow, "vault_id">[]> {
  const allowed = within === null ? sql`true` : sql`v.id = any (${within}::uuid[])`;
  const { rows } = await sql<Omit<UsageRow, "vault_id">>`
    with changes as (
      select greatest(u.day, ${from}::date) as day,
        u.stored_bytes - coalesce(lag(u.stored_bytes) over vault, 0) as stored, u.size_bytes - coalesce(lag(u.size_bytes) over vault, 0) as size
      from vaults v
      cross join lateral ${lastNoteUntil(from)} first
      join vault_usage u on u.vault_id = v.id and u.account_id = ${accountId} and u.day >= first.day
      where v.account_id = ${accountId} and v.deleted_at is null and ${allowed}
      window vault as (partition by u.vault_id order by u.day))
    select day::text as day, (sum(sum(stored)) over (order by day))::bigint as stored_bytes,
      (sum(sum(size)) over (order by day))::bigint as size_bytes
    from changes group by changes.day order by changes.day`.execute(tx.db);
  return rows;
}
