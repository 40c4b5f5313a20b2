/**
 * Puts the rows of a record into the database. It runs as the owner of the tables, in one transaction per record: a command of the
 * operator, while the account has no other users.
 */

import type { Pool, PoolClient } from "pg";
import type { AccountRecord, RecordedRow } from "./account-record.ts";
import { tablesOf } from "./record-store.ts";
import { type RecordedTable, withoutAccount } from "./recorded-tables.ts";

/** `missing`: rows that exist stay. `newest`: rows become what the record says, and rows that it does not have end. */
export type ApplyMode = "missing" | "newest";

export function applyRecord(owner: Pool, record: AccountRecord, mode: ApplyMode): Promise<void> {
  return inTransaction(owner, async (client) => {
    if (mode === "newest") await freeRows(client, record);
    for (const table of tablesOf(record.accountId)) {
      const rows = record.tables[table.table] ?? [];
      if (table.table === "vaults") await adoptDefaultVault(client, rows);
      await putRows(client, table, rows, mode);
    }
    // Rows are ended in reverse: what refers to others goes before them.
    if (mode === "newest")
      for (const table of tablesOf(record.accountId).toReversed())
        if (table.ended !== undefined) await endOthers(client, table, record);
  });
}

/**
 * Before the first of several records is applied: an address that was one account's may be another's by now. Until all of them are
 * applied the rows are not those of any moment.
 */
export function freeRecord(owner: Pool, record: AccountRecord): Promise<void> {
  return inTransaction(owner, (client) => freeRows(client, record));
}

async function inTransaction(owner: Pool, work: (client: PoolClient) => Promise<void>): Promise<void> {
  const client = await owner.connect();
  try {
    await client.query("begin");
    await client.query("select set_config('emanet.scope', 'system', true)");
    await work(client);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    throw error;
  } finally {
    client.release();
  }
}

/** A trigger makes a default vault with every account. It gets the id of the recorded one, before anything refers to it. */
async function adoptDefaultVault(client: PoolClient, rows: readonly RecordedRow[]): Promise<void> {
  const recorded = rows.find(({ kind }) => kind === "default");
  if (recorded === undefined) return;
  await client.query(
    `update emanet.vaults set id = $1 where account_id = $2 and kind = 'default' and not has_catalog
       and not exists (select 1 from emanet.vaults where id = $1)`,
    [recorded.id, recorded.account_id],
  );
}

async function putRows(
  client: PoolClient,
  { table, key }: RecordedTable,
  rows: readonly RecordedRow[],
  mode: ApplyMode,
): Promise<void> {
  if (rows.length === 0) return;
  // A record of an older version lacks columns, and one of a newer version has more.
  const known = new Set(await columnsOf(client, table));
  const columns = Object.keys(rows[0] ?? {}).filter((column) => known.has(column));
  const list = columns.map(quoted).join(", ");
  const changed = columns.filter((column) => !key.includes(column));
  const update = changed.map((column) => `${quoted(column)} = excluded.${quoted(column)}`).join(", ");
  // The default vault exists with a name of its own: the recorded one counts in both modes.
  const replaces = mode === "newest" || table === "vaults";
  const conflict =
    replaces && changed.length > 0 ? `(${key.map(quoted).join(", ")}) do update set ${update}` : "do nothing";
  await client.query(
    `insert into emanet.${quoted(table)} (${list})
     select ${list} from jsonb_populate_recordset(null::emanet.${quoted(table)}, $1::jsonb) on conflict ${conflict}`,
    [JSON.stringify(rows)],
  );
}

/** Only rows that the record has: it says what they become. */
async function freeRows(client: PoolClient, { accountId, tables }: AccountRecord): Promise<void> {
  for (const { table, freed = {} } of tablesOf(accountId)) {
    const rows = tables[table] ?? [];
    const columns = Object.keys(freed);
    // A record of an older version may lack a column, and would not set it again.
    if (columns.length === 0 || !columns.every((column) => column in (rows[0] ?? {}))) continue;
    const values = columns.map((column) => `${quoted(column)} = ${freed[column]}`).join(", ");
    await client.query(`update emanet.${quoted(table)} set ${values} where id = any($1::uuid[])`, [
      rows.map(({ id }) => id),
    ]);
  }
}

async function columnsOf(client: PoolClient, table: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ column_name: string }>(
    "select column_name from information_schema.columns where table_schema = 'emanet' and table_name = $1",
    [table],
  );
  return rows.map(({ column_name }) => column_name);
}

/** Ends the rows of the account that the record does not have. */
async function endOthers(client: PoolClient, of: RecordedTable, record: AccountRecord): Promise<void> {
  const { table, key, ended = "" } = of;
  if (withoutAccount.has(table)) return;
  const same = key.map((column) => `r.${quoted(column)} is not distinct from t.${quoted(column)}`).join(" and ");
  const others = `t.account_id is not distinct from $2::uuid and not exists (
    select 1 from jsonb_populate_recordset(null::emanet.${quoted(table)}, $1::jsonb) r where ${same})`;
  const statement =
    ended === "delete"
      ? `delete from emanet.${quoted(table)} t where ${others}`
      : `update emanet.${quoted(table)} t ${ended} where ${others}`;
  await client.query(statement, [JSON.stringify(record.tables[table] ?? []), record.accountId]);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
