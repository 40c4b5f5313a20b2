/** Snapshots of the catalog: their rows and bitmaps, retention, deletion, and the vault's chain. */

import type { ChainHead, Retention, SnapshotInfo, SnapshotQuery, SnapshotRow } from "@emanet/engine/catalog";
import { assertDeletable, CatalogError, emptyChain, isNewerChange, maxSnapshotsPerPage } from "@emanet/engine/catalog";
import { sql } from "kysely";
import { type SnapshotColumns, snapshotColumns, snapshotInfoOf, snapshotOf } from "./rows.ts";
import { bigints, byteas } from "./sql-arrays.ts";
import { atCommit, rowsOf, type VaultDatabase, type VaultTx } from "./vault-store.ts";

/** Bitmaps read at a time: each has up to some hundred kilobytes. */
const bitmapsPerPage = 16;

export async function readSnapshot(database: VaultDatabase, id: string): Promise<SnapshotRow | null> {
  const [row] = await database.rows(
    (vault) => sql<SnapshotColumns & { reach: Buffer }>`
      select ${sql.raw(snapshotColumns)}, reach from catalog_snapshots where vault = ${vault} and id = ${id}`,
  );
  return row === undefined ? null : snapshotOf(row);
}

export async function readSnapshotPage(database: VaultDatabase, query: SnapshotQuery): Promise<SnapshotInfo[]> {
  const { source, after, newestFirst = false, limit = maxSnapshotsPerPage } = query;
  const [order, compare] = newestFirst ? [sql.raw("desc"), sql.raw("<")] : [sql.raw("asc"), sql.raw(">")];
  const ofSource = source === undefined ? sql`` : sql`and source = ${source}`;
  const later =
    after === undefined ? sql`` : sql`and (completed, id) ${compare} (${after.completedAt}::bigint, ${after.id})`;
  const rows = await database.rows(
    (vault) => sql<SnapshotColumns>`
      select ${sql.raw(snapshotColumns)} from catalog_snapshots where vault = ${vault} ${ofSource} ${later}
      order by completed ${order}, id ${order} limit ${Math.min(limit, maxSnapshotsPerPage)}::integer`,
  );
  return rows.map(snapshotInfoOf);
}

/** All bitmaps of snapshots, then those of the bases of uploads, page by page. */
export async function* readBitmaps(database: VaultDatabase): AsyncGenerator<Uint8Array> {
  for (const [table, key] of [
    ["catalog_snapshots", "id"],
    ["catalog_uploads", "upload"],
  ] as const) {
    const [from, by] = [sql.table(table), sql.ref(key)];
    for (let after = ""; ; ) {
      const rows = await database.rows(
        (vault) => sql<{ key: string; reach: Buffer }>`
          select ${by} as key, reach from ${from} where vault = ${vault} and ${by} > ${after}
          order by ${by} limit ${bitmapsPerPage}::integer`,
      );
      for (const { reach } of rows) yield reach;
      const last = rows.at(-1);
      if (last === undefined) break;
      after = last.key;
    }
  }
}

export async function hasSnapshot(to: VaultTx, id: string): Promise<boolean> {
  const rows = await rowsOf(to, sql`select 1 from catalog_snapshots where vault = ${to.vault} and id = ${id}`);
  return rows.length > 0;
}

/**
 * Whether a completed snapshot has the same content as another one: the same root in the same place, reaching the same items. Then whatever was found out
 * about the content of one holds for the other, unless something was damaged since.
 */
export async function hasSameContent(to: VaultTx, id: string, other: string): Promise<boolean> {
  const rows = await rowsOf(
    to,
    sql`
      select 1 from catalog_snapshots a join catalog_snapshots b on b.vault = a.vault
      where a.vault = ${to.vault} and a.id = ${id} and b.id = ${other} and b.status = 'completed' and a.root_ordinal = b.root_ordinal
        and a.root_id = b.root_id and a.size = b.size and a.files = b.files and a.reach = b.reach
        and not exists (select from catalog_frames where vault = ${to.vault} and damaged)`,
  );
  return rows.length > 0;
}

/**
 * Inserts snapshots. With "replace" rows that are there are replaced. `owner` is that of all items that they reach, if it is
 * known. Returns the ids that were written.
 */
export async function insertSnapshots(
  to: VaultTx,
  rows: readonly SnapshotRow[],
  mode: "insert" | "replace",
  owner: number | null = null,
): Promise<readonly string[]> {
  if (rows.length === 0) return [];
  const numbers = (of: (row: SnapshotRow) => number) => bigints(rows.map(of));
  // An array of numbers in binary form has no null: -1 stands for "none".
  const orNone = (of: (row: SnapshotRow) => number | null) => bigints(rows.map((row) => of(row) ?? -1));
  const written = await rowsOf(
    to,
    sql<{ id: string }>`
      insert into catalog_snapshots (vault, owner, ${sql.raw(snapshotColumns)}, reach)
      select ${to.vault}::integer, ${owner}::integer, id, source, session, started, completed, root_ordinal, root_id, size, files, warnings, stored,
        status, nullif(expires, -1), nullif(locked, -1), hold, changes, reach
      from unnest(
        ${rows.map(({ id }) => id)}::text[], ${rows.map(({ source }) => source)}::text[], ${numbers((row) => row.session)}::bigint[],
        ${numbers((row) => row.startedAt)}::bigint[], ${numbers((row) => row.completedAt)}::bigint[],
        ${numbers((row) => row.rootOrdinal)}::bigint[], ${byteas(rows.map(({ rootId }) => rootId))}::bytea[],
        ${numbers((row) => row.size)}::bigint[], ${numbers((row) => row.files)}::bigint[],
        ${numbers((row) => row.warnings)}::bigint[], ${numbers((row) => row.storedBytes)}::bigint[],
        ${rows.map(({ status }) => status)}::text[], ${orNone((row) => row.retention.expiresAt)}::bigint[],
        ${orNone((row) => row.retention.lockedUntil)}::bigint[], ${rows.map(({ retention }) => retention.hold)}::boolean[],
        ${numbers((row) => row.changes)}::bigint[], ${byteas(rows.map(({ reach }) => reach))}::bytea[]
      ) as x (${sql.raw(snapshotColumns)}, reach)
      order by id on conflict (vault, id) ${mode === "insert" ? sql.raw("do nothing") : replaceSnapshot} returning id`,
  );
  return written.map(({ id }) => id);
}

const replaceSnapshot = sql.raw(
  `do update set source = excluded.source, session = excluded.session, started = excluded.started,
    completed = excluded.completed, root_ordinal = excluded.root_ordinal, root_id = excluded.root_id, size = excluded.size,
    files = excluded.files, warnings = excluded.warnings, stored = excluded.stored, status = excluded.status,
    expires = excluded.expires, locked = excluded.locked, hold = excluded.hold, changes = excluded.changes,
    reach = excluded.reach, owner = excluded.owner`,
);

/** The row of a snapshot, locked until the transaction ends. Throws `unknown_snapshot` if there is none. */
async function lockSnapshot(to: VaultTx, id: string): Promise<SnapshotInfo> {
  const [row] = await rowsOf(
    to,
    sql<SnapshotColumns>`
      select ${sql.raw(snapshotColumns)} from catalog_snapshots where vault = ${to.vault} and id = ${id} for no key update`,
  );
  if (row === undefined) throw new CatalogError("unknown_snapshot", id);
  return snapshotInfoOf(row);
}

export async function changeRetention(to: VaultTx, id: string, retention: Retention, sequence: number): Promise<void> {
  if (isNewerChange(await lockSnapshot(to, id), sequence)) atCommit(to, retentionUpdate(to, id, retention, sequence));
}

function retentionUpdate({ vault }: VaultTx, id: string, retention: Retention, sequence: number) {
  const { expiresAt, lockedUntil, hold } = retention;
  return sql`
    update catalog_snapshots set expires = ${expiresAt}::bigint, locked = ${lockedUntil}::bigint, hold = ${hold},
      changes = ${sequence}::bigint
    where vault = ${vault} and id = ${id}`;
}

export async function beginDeleteSnapshot(to: VaultTx, id: string, now: number): Promise<void> {
  assertDeletable(await lockSnapshot(to, id), now);
  atCommit(to, sql`update catalog_snapshots set status = 'deleting' where vault = ${to.vault} and id = ${id}`);
}

export async function cancelDeleteSnapshot(
  to: VaultTx,
  id: string,
  retention: Retention,
  sequence: number,
): Promise<boolean> {
  const rows = await rowsOf(
    to,
    sql`update catalog_snapshots set status = 'completed'
      where vault = ${to.vault} and id = ${id} and status = 'deleting' and changes < ${sequence}::bigint returning 1`,
  );
  if (rows.length > 0) atCommit(to, retentionUpdate(to, id, retention, sequence));
  return rows.length > 0;
}

/** The caller raises the revision. */
export async function deleteSnapshot(to: VaultTx, id: string, now: number): Promise<void> {
  assertDeletable(await lockSnapshot(to, id), now);
  // Not with the commit: it waits for uploads that begin with this base, and the revision is raised after it.
  await rowsOf(to, sql`delete from catalog_snapshots where vault = ${to.vault} and id = ${id}`);
}

export async function readChain(
  database: VaultDatabase,
): Promise<{ readonly head: ChainHead; readonly epoch: number }> {
  const [row] = await database.rows(
    (vault) => sql<{ sequence: number; hash: Buffer; epoch: number }>`
      select chain_sequence as sequence, chain_hash as hash, epoch from catalogs where vault = ${vault}`,
  );
  if (row === undefined) throw new Error("a catalog has no row");
  return { head: row.sequence === 0 ? emptyChain : { sequence: row.sequence, hash: row.hash }, epoch: row.epoch };
}

/** Sets the head, unless it is there or beyond already, and the newest epoch. */
export function advanceChain(to: VaultTx, { sequence, hash }: ChainHead, epoch = 1): void {
  const isNewer = sql`chain_sequence < ${sequence}::bigint`;
  const advance = sql`
    update catalogs set chain_sequence = greatest(chain_sequence, ${sequence}::bigint),
      chain_hash = case when ${isNewer} then ${Buffer.from(hash)}::bytea else chain_hash end,
      epoch = greatest(epoch, ${epoch}::bigint)
    where vault = ${to.vault}`;
  atCommit(to, advance);
}

/** Revokes writers. A revocation is never moved to a later session. */
export async function revokeWriters(to: VaultTx, revoked: ReadonlyMap<string, number>): Promise<void> {
  if (revoked.size === 0) return;
  await sql`
    insert into catalog_revoked_writers as known (vault, writer, from_session)
    select ${to.vault}::integer, writer, session
    from unnest(${[...revoked.keys()]}::text[], ${bigints(revoked.values())}::bigint[]) as x (writer, session)
    order by writer on conflict (vault, writer) do update
      set from_session = least(known.from_session, excluded.from_session)`.execute(to.db);
}
