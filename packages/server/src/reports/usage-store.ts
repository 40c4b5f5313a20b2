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
    join vault_usage u on u.vault_id = v.id and u.account_id = ${accountId}
      and u.day >= coalesce((select max(l.day) from vault_usage l where l.vault_id = v.id and l.day <= ${from}::date), '-infinity')
    order by u.day`.execute(tx.db);
  return rows;
}
