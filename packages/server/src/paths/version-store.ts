/** The SQL of paths, their versions and their grams: what the job writes. Every function runs under the lock of the projection. */

import { type RawBuilder, sql } from "kysely";
import type { Tx } from "../kernel/tx.ts";
import { blockOf, type Place, pathsPerBlock, type Version } from "./rules.ts";

/** Later statements of the transaction are lookups by keys (migration 0035), and what is asked for in an order is read in it, not sorted. */
export async function planByKeys(tx: Pick<Tx, "db">): Promise<void> {
  await sql`select plan_by_keys(), set_config('enable_sort', 'off', true)`.execute(tx.db);
}

/**
 * The numbers of paths, by key in hexadecimal digits. Lateral, with a limit: then every plan looks up one key after the other. A join was
 * planned by what the tables had been, and compared all paths of a vault with every key. Keys from the wanted one to itself, in their
 * order: only one index has that order, and `planByKeys` forbids to sort. With equality, or where it could sort, a vault that the statistics do not know was read by
 * its other index, all paths for each key.
 */
export async function pathNumbers(tx: Tx, vault: number, keys: readonly Buffer[]): Promise<Map<string, number>> {
  const { rows } = await sql<{ key: Buffer; path: number }>`
    select p.key, p.path from unnest(${keys}::bytea[]) as wanted (key)
    cross join lateral (
      select x.key, x.path from projected_paths x
      where x.vault = ${vault} and x.key >= wanted.key and x.key <= wanted.key order by x.key limit 1) p`.execute(
    tx.db,
  );
  return new Map(rows.map(({ key, path }) => [key.toString("hex"), path]));
}

export interface NewPath {
  readonly path: number;
  readonly key: Buffer;
  readonly sealed: Buffer;
  readonly grams: Iterable<number>;
}

export async function insertPaths(tx: Tx, vault: number, sourceId: string, paths: readonly NewPath[]): Promise<void> {
  if (paths.length === 0) return;
  await sql`
    insert into projected_paths (vault, source_id, path, key, sealed)
    select ${vault}, ${sourceId}::uuid, n.path, n.key, n.sealed
    from unnest(${paths.map(({ path }) => path)}::integer[], ${paths.map(({ key }) => key)}::bytea[],
      ${paths.map(({ sealed }) => sealed)}::bytea[]) as n (path, key, sealed)`.execute(tx.db);
  const rows = gramRows(paths);
  await sql`
    insert into projected_grams as g (vault, block, gram, offsets)
    select ${vault}, n.block, n.gram, n.offsets
    from unnest(${rows.map(({ block }) => block)}::integer[], ${rows.map(({ gram }) => gram)}::integer[],
      ${rows.map(({ offsets }) => offsets)}::bytea[]) as n (block, gram, offsets)
    on conflict (vault, block, gram) do update set offsets = g.offsets || excluded.offsets`.execute(tx.db);
}

interface GramRow {
  readonly block: number;
  readonly gram: number;
  readonly offsets: Buffer;
}

/** The offsets of each gram in each block, in the order of the index. */
function gramRows(paths: readonly NewPath[]): GramRow[] {
  const blocks = new Map<number, Map<number, number[]>>();
  for (const { path, grams } of paths) {
    const block = blocks.get(blockOf(path)) ?? new Map<number, number[]>();
    blocks.set(blockOf(path), block);
    for (const gram of grams) {
      const offsets = block.get(gram);
      if (offsets === undefined) block.set(gram, [path % pathsPerBlock]);
      else offsets.push(path % pathsPerBlock);
    }
  }
  const rows = [...blocks].flatMap(([block, grams]) =>
    [...grams].map(([gram, offsets]) => ({ block, gram, offsets: bytesOf(offsets) })),
  );
  return rows.toSorted((a, b) => a.block - b.block || a.gram - b.gram);
}

/** Two bytes each, little-endian. */
function bytesOf(offsets: readonly number[]): Buffer {
  const bytes = Buffer.alloc(offsets.length * 2);
  for (const [at, offset] of offsets.entries()) bytes.writeUInt16LE(offset, at * 2);
  return bytes;
}

export interface PathVersion extends Version {
  readonly path: number;
}

/**
 * Of each path the newest versions that begin no later than the given snapshot: two, because one of them can begin with the next
 * snapshot and the other cover the one before.
 */
export async function versionsUntil(
  tx: Tx,
  vault: number,
  paths: readonly number[],
  latest: string,
): Promise<Map<number, readonly Version[]>> {
  const { rows } = await sql<PathVersion>`
    select v.* from unnest(${paths}::integer[]) as wanted (path)
    cross join lateral (
      select ${columns("x")} from projected_versions x
      where x.vault = ${vault} and x.path = wanted.path and x.since <= ${latest}::uuid
      order by x.since desc limit 2) v`.execute(tx.db);
  return Map.groupBy(rows, ({ path }) => path);
}

/** The columns of a version under this name. */
export function columns(table: string): RawBuilder<unknown> {
  const of = (name: string) => sql.ref(`${table}.${name}`);
  return sql`${of("path")}, ${of("since")}, ${of("until")}, ${of("type")}, ${of("size_bytes")} as size,
    ${of("mtime_seconds")} as "mtimeSeconds", ${of("mtime_nanos")} as "mtimeNanos", ${of("mode")}, ${of("hash")}`;
}

/** Versions end with a snapshot: those of these paths that begin there. */
export async function cutVersions(
  tx: Tx,
  vault: number,
  cuts: readonly { readonly path: number; readonly since: string }[],
  until: string,
): Promise<void> {
  if (cuts.length === 0) return;
  await sql`
    update projected_versions v set until = ${until}::uuid
    from unnest(${cuts.map(({ path }) => path)}::integer[], ${cuts.map(({ since }) => since)}::uuid[]) as c (path, since)
    where v.vault = ${vault} and v.path = c.path and v.since = c.since`.execute(tx.db);
}

/** Versions that begin with the next snapshot begin with the new one. */
export async function beginEarlier(
  tx: Tx,
  vault: number,
  paths: readonly number[],
  { snapshot, next }: Place,
): Promise<void> {
  if (paths.length === 0) return;
  await sql`
    update projected_versions v set since = ${snapshot}::uuid
    from unnest(${paths}::integer[]) as e (path)
    where v.vault = ${vault} and v.path = e.path and v.since = ${next}::uuid`.execute(tx.db);
}

export async function insertVersions(tx: Tx, vault: number, versions: readonly PathVersion[]): Promise<void> {
  if (versions.length === 0) return;
  const all = <K extends keyof PathVersion>(key: K) => versions.map((version) => version[key]);
  await sql`
    insert into projected_versions
      (vault, path, since, until, type, size_bytes, mtime_seconds, mtime_nanos, mode, hash)
    select ${vault}, n.*
    from unnest(${all("path")}::integer[], ${all("since")}::uuid[], ${all("until")}::uuid[], ${all("type")}::text[],
      ${all("size")}::bigint[], ${all("mtimeSeconds")}::bigint[], ${all("mtimeNanos")}::integer[],
      ${all("mode")}::integer[], ${all("hash")}::bytea[]) as n`.execute(tx.db);
}

/**
 * Takes a snapshot out of up to so many versions. Returns true when no version names it any more. `next` is the snapshot after it.
 */
export async function removeFromVersions(tx: Tx, vault: number, { snapshot, next }: Place, limit: number) {
  const onlyThere = next === null ? sql`true` : sql`until is not distinct from ${next}::uuid`;
  const gone = await sql<{ path: number }>`
    delete from projected_versions v
    using (select path from projected_versions where vault = ${vault} and since = ${snapshot}::uuid and ${onlyThere}
      limit ${limit}) g
    where v.vault = ${vault} and v.path = g.path and v.since = ${snapshot}::uuid
    returning v.path`.execute(tx.db);
  await removePaths(
    tx,
    vault,
    gone.rows.map(({ path }) => path),
  );
  const moved = await sql`
    update projected_versions v set since = ${next}::uuid
    from (select path from projected_versions where vault = ${vault} and since = ${snapshot}::uuid and not (${onlyThere})
      limit ${limit}) g
    where v.vault = ${vault} and v.path = g.path and v.since = ${snapshot}::uuid`.execute(tx.db);
  const ended = await joinNeighbours(tx, vault, { snapshot, next }, limit);
  return gone.rows.length + Number(moved.numAffectedRows ?? 0n) + ended === 0;
}

/** Versions that ended with the snapshot end with the next one, or go on in an equal version that begins there. */
async function joinNeighbours(tx: Tx, vault: number, { snapshot, next }: Place, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    with ended as materialized (
      select v.path, v.since, w.path is not null as goes_on, w.until
      from (select * from projected_versions where vault = ${vault} and until = ${snapshot}::uuid limit ${limit}) v
      left join projected_versions w on w.vault = ${vault} and w.path = v.path and w.since = ${next}::uuid
        and (w.type, w.size_bytes, w.mtime_seconds, w.mtime_nanos, w.mode, w.hash)
          is not distinct from (v.type, v.size_bytes, v.mtime_seconds, v.mtime_nanos, v.mode, v.hash)),
    joined as (
      delete from projected_versions w using ended
      where ended.goes_on and w.vault = ${vault} and w.path = ended.path and w.since = ${next}::uuid)
    update projected_versions v set until = case when ended.goes_on then ended.until else ${next}::uuid end
    from ended where v.vault = ${vault} and v.path = ended.path and v.since = ended.since`.execute(tx.db);
  return Number(numAffectedRows ?? 0n);
}

/** Removes those of the paths that have no version left, and the grams of blocks that have no path left. */
async function removePaths(tx: Tx, vault: number, paths: readonly number[]): Promise<void> {
  if (paths.length === 0) return;
  const { rows } = await sql<{ path: number }>`
    delete from projected_paths p
    using unnest(${paths}::integer[]) as g (path)
    where p.vault = ${vault} and p.path = g.path
      and not exists (select from projected_versions v where v.vault = ${vault} and v.path = p.path)
    returning p.path`.execute(tx.db);
  const blocks = [...new Set(rows.map(({ path }) => blockOf(path)))];
  if (blocks.length === 0) return;
  await sql`
    delete from projected_grams g
    using unnest(${blocks}::integer[]) as b (block)
    where g.vault = ${vault} and g.block = b.block
      and not exists (select from projected_paths p where p.vault = ${vault}
        and p.path >= b.block * ${pathsPerBlock} and p.path < (b.block + 1) * ${pathsPerBlock})`.execute(tx.db);
}

/** Deletes up to so many rows of each table. Returns true when none is left. */
export async function clearRows(tx: Tx, vault: number, limit: number): Promise<boolean> {
  let count = 0n;
  for (const table of ["projected_versions", "projected_paths", "projected_grams"] as const) {
    const name = sql.table(table);
    const { numAffectedRows = 0n } = await sql`
      delete from ${name} where vault = ${vault} and ctid = any (array(
        select ctid from ${name} where vault = ${vault} limit ${limit}))`.execute(tx.db);
    count += numAffectedRows;
  }
  return count === 0n;
}
