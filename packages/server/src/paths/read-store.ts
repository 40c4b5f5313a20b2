/**
 * The SQL of search and history. What they show depends on the snapshots that a projection has and is to have at this moment: a version is
 * shown with the first and the last of these that have it, and not at all if none has it.
 */

import { type RawBuilder, sql } from "kysely";
import type { ReadTx } from "../kernel/tx.ts";
import { pathsPerBlock, type Version } from "./rules.ts";
import { columns } from "./version-store.ts";

/** The rows of a query whose plan does not depend on the sizes of tables. */
async function rowsOf<T>({ db }: ReadTx, query: RawBuilder<T>): Promise<readonly T[]> {
  const [, { rows }] = await Promise.all([sql`select plan_by_keys()`.execute(db), query.execute(db)]);
  return rows;
}

/** Consecutive paths of one vault. */
export interface Block {
  readonly vault: number;
  readonly block: number;
}

/** Lists of a block that are read, the shortest: what they have in common is opened and compared. All of them would be megabytes. */
const mostLists = 3;

/**
 * Of these blocks, those with names that may have every gram: the offsets of the rarest grams, one list behind the other, and how many lists.
 * `grams` has those of each block's vault. One value and no array: the driver reads an array letter by letter.
 */
export async function blocksWithGrams(
  tx: ReadTx,
  blocks: readonly Block[],
  grams: (vault: number) => readonly number[],
): Promise<readonly (Block & { readonly offsets: Buffer; readonly lists: number })[]> {
  const wanted = blocks.flatMap(({ vault, block }) => grams(vault).map((gram) => ({ vault, block, gram })));
  const [first] = blocks;
  const count = first === undefined ? 0 : grams(first.vault).length;
  return rowsOf(
    tx,
    sql<Block & { offsets: Buffer; lists: number }>`
      select vault, block, string_agg(offsets, '') as offsets, count(*)::integer as lists
      from (
        select g.vault, g.block, g.offsets, count(*) over (partition by g.vault, g.block) as found,
          row_number() over (partition by g.vault, g.block order by length(g.offsets)) as place
        from unnest(${wanted.map(({ vault }) => vault)}::integer[], ${wanted.map(({ block }) => block)}::integer[],
          ${wanted.map(({ gram }) => gram)}::integer[]) as w (vault, block, gram)
        cross join lateral (
          select x.vault, x.block, x.offsets from projected_grams x
          where x.vault = w.vault and x.block = w.block and x.gram = w.gram limit 1) g) found
      where found = ${count} and place <= ${mostLists}
      group by vault, block`,
  );
}

/** The numbers of paths whose offsets are in all of so many lists, the greatest first. A list has an offset once. */
export function commonPaths(block: number, offsets: Buffer, lists: number): number[] {
  const counts = new Uint8Array(pathsPerBlock);
  for (let at = 0; at + 1 < offsets.length; at += 2) {
    const offset = offsets.readUInt16LE(at);
    counts[offset] = (counts[offset] ?? 0) + 1;
  }
  const paths: number[] = [];
  for (let offset = pathsPerBlock - 1; offset >= 0; offset--)
    if (counts[offset] === lists) paths.push(block * pathsPerBlock + offset);
  return paths;
}

/** The path that a row `w` names. Lateral, with a limit, as all lookups here: every plan then looks up one after the other. */
const wantedPath = sql`(select x.* from projected_paths x where x.vault = w.vault and x.path = w.path limit 1)`;

export interface PathRow {
  readonly vault: number;
  readonly path: number;
  readonly key: Buffer;
  readonly sealed: Buffer;
}

export async function readPaths(
  tx: ReadTx,
  wanted: readonly { readonly vault: number; readonly path: number }[],
): Promise<readonly PathRow[]> {
  return rowsOf(
    tx,
    sql<PathRow>`
      select p.vault, p.path, p.key, p.sealed
      from unnest(${wanted.map(({ vault }) => vault)}::integer[], ${wanted.map(({ path }) => path)}::integer[]) as w (vault, path)
      cross join lateral ${wantedPath} p`,
  );
}

/** A version, and the first and last snapshot that have it. */
export interface ShownVersion extends Version {
  readonly vault: number;
  readonly path: number;
  readonly first_id: string;
  readonly first_created_at: Date;
  readonly last_id: string;
  readonly last_created_at: Date;
  /** The newest snapshot of the source has it. */
  readonly is_current: boolean;
}

export interface FoundPath extends ShownVersion {
  readonly source_id: string;
  readonly source_name: string;
}

/** The newest versions of these paths, with their sources. Paths that no snapshot has any more are left out. */
export async function newestVersions(
  tx: ReadTx,
  wanted: readonly { readonly vault: number; readonly path: number }[],
): Promise<readonly FoundPath[]> {
  return rowsOf(
    tx,
    sql<FoundPath>`
      select found.*, p.source_id, s.name as source_name
      from unnest(${wanted.map(({ vault }) => vault)}::integer[], ${wanted.map(({ path }) => path)}::integer[]) as w (vault, path)
      cross join lateral ${wantedPath} p
      join sources s on s.id = p.source_id
      cross join lateral (${shownVersions(sql.ref("p.vault"), sql.ref("p.path"), sql.ref("p.source_id"))}
        order by x.since desc limit 1) found`,
  );
}

/** The versions of a path, the newest first, from before the one that begins with the given snapshot on. */
export async function versionsOfPath(
  tx: ReadTx,
  { vault, key, sourceId }: { readonly vault: number; readonly key: Buffer; readonly sourceId: string },
  { before, take }: { readonly before: string | null; readonly take: number },
): Promise<readonly ShownVersion[]> {
  const begun = before === null ? sql`` : sql`and x.since < ${before}::uuid`;
  return rowsOf(
    tx,
    sql<ShownVersion>`
      select found.* from projected_paths p
      cross join lateral (${shownVersions(sql.ref("p.vault"), sql.ref("p.path"), sql`${sourceId}::uuid`)} ${begun}
        order by x.since desc limit ${take}) found
      where p.vault = ${vault} and p.key = ${key}`,
  );
}

/** Versions of a path that a snapshot has; the caller adds an order. */
function shownVersions(vault: RawBuilder<unknown>, path: RawBuilder<unknown>, sourceId: RawBuilder<unknown>) {
  const shown = sql`select snapshot_id, created_at from projected_snapshots
    where source_id = ${sourceId} and state = 'contained' and wanted`;
  return sql`
    select x.vault, ${columns("x")}, f.snapshot_id as first_id, f.created_at as first_created_at,
      l.snapshot_id as last_id, l.created_at as last_created_at, l.snapshot_id = n.snapshot_id as is_current
    from projected_versions x
    cross join lateral (${shown} and snapshot_id >= x.since order by snapshot_id limit 1) f
    cross join lateral (${shown} and (x.until is null or snapshot_id < x.until) order by snapshot_id desc limit 1) l
    cross join lateral (${shown} order by snapshot_id desc limit 1) n
    where x.vault = ${vault} and x.path = ${path} and f.snapshot_id <= l.snapshot_id`;
}

/** How far a projection is. */
export interface ProjectionProgress {
  /** Every older snapshot is in it too; null: not even the oldest is. */
  readonly snapshot_id: string | null;
  readonly created_at: Date | null;
  /** Snapshots that are to be in it and are not. */
  readonly waiting: number;
}

/** Of the projections of all vaults of an account, of some vaults together, or of one source. */
export async function progressOf(
  tx: ReadTx,
  of:
    | { readonly accountId: string }
    | { readonly vaultIds: readonly string[] }
    | { readonly vaultId: string; readonly sourceId: string },
): Promise<ProjectionProgress> {
  // A vault whose first snapshot waits has no projection yet.
  const vaults =
    "accountId" in of
      ? sql`(select id as vault_id from vaults where account_id = ${of.accountId}::uuid)`
      : sql`(select unnest(${"vaultId" in of ? [of.vaultId] : of.vaultIds}::uuid[]) as vault_id)`;
  const source = "sourceId" in of ? sql`and s.source_id = ${of.sourceId}::uuid` : sql``;
  const rows = await rowsOf(
    tx,
    sql<ProjectionProgress>`
      with waiting as materialized (
        select min(s.snapshot_id::text)::uuid as first, count(*)::integer as count
        from ${vaults} v join projected_snapshots s on s.vault_id = v.vault_id
        where (s.state <> 'contained' or not s.wanted) and s.wanted ${source})
      select newest.snapshot_id, newest.created_at, waiting.count as waiting
      from waiting left join lateral (
        select s.snapshot_id, s.created_at
        from ${vaults} v cross join lateral (
          select s.snapshot_id, s.created_at from projected_snapshots s
          where s.vault_id = v.vault_id and s.state = 'contained' and s.wanted ${source}
            and (waiting.first is null or s.snapshot_id < waiting.first)
          order by s.snapshot_id desc limit 1) s
        order by s.snapshot_id desc limit 1) newest on true`,
  );
  return rows[0] ?? { snapshot_id: null, created_at: null, waiting: 0 };
}
