/** Reads the rows of a record, and puts the rows of a record into the database. */

import { sql } from "kysely";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import type { RecordedRow } from "./account-record.ts";
import { accountTables, platformTables, type RecordedTable, withoutAccount } from "./recorded-tables.ts";

type Tables = Readonly<Record<string, readonly RecordedRow[]>>;

/** The platform has no id of its own. */
const platformId = "00000000-0000-0000-0000-000000000000";

export function tablesOf(accountId: string | null): readonly RecordedTable[] {
  return accountId === null ? platformTables : accountTables;
}

export interface ChangedAccount {
  readonly accountId: string | null;
  /** The newest changes that a record made now has. */
  readonly changes: readonly string[];
}

/** Accounts whose record lacks something, oldest change first; row access `system`. */
export async function changedAccounts(tx: ReadTx, limit: number): Promise<readonly ChangedAccount[]> {
  const { rows } = await sql<{ account_id: string | null; ids: readonly string[] }>`
    select account_id, array_agg(id::text order by id) as ids from account_changes
    group by account_id order by min(id) limit ${limit}`.execute(tx.db);
  return rows.map(({ account_id: accountId, ids }) => ({ accountId, changes: ids }));
}

/** What the records of this account (null: none) and of the platform lack; row access `system`. */
export async function changesOf(tx: ReadTx, accountId: string | null): Promise<readonly ChangedAccount[]> {
  const { rows } = await sql<{ account_id: string | null; ids: readonly string[] }>`
    select account_id, array_agg(id::text order by id) as ids from account_changes
    where account_id = ${accountId}::uuid or account_id is null group by account_id`.execute(tx.db);
  return rows.map(({ account_id, ids }) => ({ accountId: account_id, changes: ids }));
}

/**
 * Begins a record: its number, and the rows. The row of the number is locked until the commit, so a higher number has rows that
 * are at least as new. One statement reads all tables, of one moment: a row whose vault or account is not in the record could not be
 * put back.
 */
export async function beginRecord(tx: Tx, accountId: string | null): Promise<{ generation: number; tables: Tables }> {
  const { rows } = await sql<{ generation: number }>`
    insert into account_records (id, account_id, generation) values (${accountId ?? platformId}, ${accountId}, 1)
    on conflict (id) do update set generation = account_records.generation + 1 returning generation`.execute(tx.db);
  const { rows: read } = await sql<{ tables: Tables }>`
    select jsonb_build_object(${sql.join(tablesOf(accountId).flatMap((of) => [sql`${of.table}::text`, rowsOf(of, accountId)]))}) as tables`.execute(
    tx.db,
  );
  return { generation: Number(rows[0]?.generation), tables: read[0]?.tables ?? {} };
}

function rowsOf(of: RecordedTable, accountId: string | null) {
  const row = sql`to_jsonb(t) - ${[...(of.without ?? [])]}::text[]`;
  return sql`(select coalesce(jsonb_agg(${row}), '[]') from ${sql.table(of.table)} t where ${ownRows(of.table, accountId)})`;
}

function ownRows(table: string, accountId: string | null) {
  if (withoutAccount.has(table)) return sql<boolean>`true`;
  const column = table === "accounts" ? sql.ref("t.id") : sql.ref("t.account_id");
  return accountId === null ? sql<boolean>`${column} is null` : sql<boolean>`${column} = ${accountId}`;
}

/** The record with these changes is in the store. */
export async function forgetChanges(tx: Tx, changes: readonly string[]): Promise<void> {
  await sql`delete from account_changes where id = any(${[...changes]}::bigint[])`.execute(tx.db);
}

/** The record of every account and of the platform is written again by the job; row access `system`. */
export async function noteAllAccounts(tx: Tx): Promise<void> {
  await sql`insert into account_changes (account_id) select id from accounts union all select null`.execute(tx.db);
}

/** Vaults whose erasure has ended; row access `system`. */
export async function erasedVaults(
  tx: ReadTx,
): Promise<readonly { readonly accountId: string; readonly vaultId: string }[]> {
  const rows = await tx.db
    .selectFrom("erasures")
    .select(["account_id", "vault_id"])
    .where("state", "=", "erased")
    .execute();
  return rows.map(({ account_id: accountId, vault_id: vaultId }) => ({ accountId, vaultId }));
}

/** The number of the newest record that this database has begun; 0 if none. */
export async function knownGeneration(tx: ReadTx, accountId: string | null): Promise<number> {
  const { rows } = await sql<{ generation: number }>`
    select generation from account_records where id = ${accountId ?? platformId}`.execute(tx.db);
  return Number(rows[0]?.generation ?? 0);
}

/** From now on records of this database have higher numbers than those of the store. */
export async function skipGenerations(tx: Tx, accountId: string | null, generation: number): Promise<void> {
  await sql`
    insert into account_records (id, account_id, generation) values (${accountId ?? platformId}, ${accountId}, ${generation})
    on conflict (id) do update set generation = greatest(account_records.generation, excluded.generation)`.execute(
    tx.db,
  );
}

/** Raises the beat of the database by one, above `least`. */
export async function nextBeat(tx: Tx, least: number): Promise<number> {
  const { rows } = await sql<{ beat: number }>`
    update store_beat set beat = greatest(beat, ${least}::bigint) + 1 where id = 1 returning beat`.execute(tx.db);
  return Number(rows[0]?.beat ?? 0);
}

export async function knownBeat(tx: ReadTx): Promise<number> {
  const { rows } = await sql<{ beat: number }>`select beat from store_beat where id = 1`.execute(tx.db);
  return Number(rows[0]?.beat ?? 0);
}
