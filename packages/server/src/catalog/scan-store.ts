/** Scans of a whole vault, page by page in the order of the keys, and what concerns all of it. */

import type { Item, PackRow, ScannedFrame } from "@emanet/engine/catalog";
import { type RawBuilder, sql } from "kysely";
import {
  type ItemColumns,
  itemColumns,
  itemOf,
  type PackColumns,
  type PlaceColumns,
  packColumns,
  packOf,
  placeColumns,
  scannedFrameOf,
} from "./rows.ts";
import { atCommit, rowsOf, type VaultDatabase, type VaultTx } from "./vault-store.ts";

/** Rows per page: some hundred kilobytes, and few round trips for a million rows. */
const rowsPerPage = 2_000;
const limit = sql`limit ${rowsPerPage}::integer`;

export async function* allItems(database: VaultDatabase): AsyncGenerator<Item> {
  const page = (vault: number, after: number) => sql<ItemColumns>`
    select ${sql.raw(itemColumns)} from catalog_items i
    where i.vault = ${vault} and i.ordinal > ${after}::bigint order by i.ordinal ${limit}`;
  for await (const row of pages(database, 0, page, ({ ordinal }) => ordinal)) yield itemOf(row);
}

export async function* allFrames(database: VaultDatabase): AsyncGenerator<ScannedFrame> {
  const page = (vault: number, after: number) => sql<PlaceColumns & { slots: number }>`
    select ${sql.raw(placeColumns)}, f.slots from catalog_frames f
    where f.vault = ${vault} and f.frame > ${after}::bigint order by f.frame ${limit}`;
  for await (const row of pages(database, 0, page, ({ frame }) => frame)) yield scannedFrameOf(row);
}

export async function* allPacks(database: VaultDatabase): AsyncGenerator<PackRow> {
  const page = (vault: number, after: string) => sql<PackColumns>`
    select ${sql.raw(packColumns)} from catalog_packs where vault = ${vault} and pack > ${after} order by pack ${limit}`;
  for await (const row of pages(database, "", page, ({ pack }) => pack)) yield packOf(row);
}

async function* pages<Row, Key>(
  database: VaultDatabase,
  first: Key,
  page: (vault: number, after: Key) => RawBuilder<Row>,
  keyOf: (row: Row) => Key,
): AsyncGenerator<Row> {
  for (let after = first; ; ) {
    const rows = await database.rows((vault) => page(vault, after));
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsPerPage) return;
    after = keyOf(last);
  }
}

/** Every table with rows of a vault but `catalogs`. */
export const vaultTables = [
  "catalog_owners",
  "catalog_sessions",
  "catalog_claims",
  "catalog_uploads",
  "catalog_reservations",
  "catalog_held",
  "catalog_units",
  "catalog_packs",
  "catalog_pins",
  "catalog_frames",
  "catalog_damaged_items",
  "catalog_items",
  "catalog_hooks",
  "catalog_snapshots",
  "catalog_revoked_writers",
] as const;

/** Removes everything of a vault. The next numbers stay: none is issued twice. */
export async function clearVault(to: VaultTx, catalogId: number): Promise<void> {
  for (const table of vaultTables) await rowsOf(to, sql`delete from ${sql.table(table)} where vault = ${to.vault}`);
  await rowsOf(
    to,
    sql`update catalogs set revision = revision + 1, stale = false, catalog_id = ${catalogId}::bigint,
        chain_sequence = default, chain_hash = default, epoch = default, damage_searched = null
      where vault = ${to.vault}`,
  );
}

export async function readCatalogId(to: VaultTx): Promise<number> {
  const query = sql<{ id: number }>`select catalog_id as id from catalogs where vault = ${to.vault}`;
  return (await rowsOf(to, query))[0]?.id ?? 0;
}

/** The next numbers are at least these from now on. */
export function raiseNumbers(to: VaultTx, least: { readonly nextOrdinal: number; readonly nextSession: number }): void {
  atCommit(
    to,
    sql`update catalogs set next_ordinal = greatest(next_ordinal, ${least.nextOrdinal}::bigint),
        next_session = greatest(next_session, ${least.nextSession}::bigint)
      where vault = ${to.vault}`,
  );
}
