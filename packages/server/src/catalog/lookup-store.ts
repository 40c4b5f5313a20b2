/** What only reads: each function is one query, which sees one state of the vault. */

import type {
  FramePlace,
  FrameRow,
  Item,
  PackRow,
  SessionNumbers,
  SessionRow,
  UploadScope,
  UploadState,
} from "@emanet/engine/catalog";
import { maxDamagedFramesPerPage } from "@emanet/engine/catalog";
import { sql } from "kysely";
import {
  frameOf,
  type ItemColumns,
  inOrder,
  itemColumns,
  itemOf,
  type PackColumns,
  type PlaceColumns,
  packColumns,
  packOf,
  placeColumns,
  placeOf,
} from "./rows.ts";
import { bigints } from "./sql-arrays.ts";
import type { VaultDatabase } from "./vault-store.ts";

export async function readUploadState(database: VaultDatabase, upload: string): Promise<UploadState | null> {
  type Row = Omit<UploadState, "ordinals"> & { readonly first: number[]; readonly after: number[] };
  const [row] = await database.rows(
    (vault) => sql<Row>`
      select o.name as owner, u.scope, u.session, c.nonce, u.lease as "leaseUntil",
        array(select first from catalog_reservations r where r.vault = ${vault} and r.session = u.session order by first)
          as first,
        array(select after from catalog_reservations r where r.vault = ${vault} and r.session = u.session order by first)
          as after
      from catalog_uploads u join catalog_owners o on o.vault = ${vault} and o.owner = u.owner
        join catalog_claims c on c.vault = ${vault} and c.session = u.session
      where u.vault = ${vault} and u.upload = ${upload}`,
  );
  if (row === undefined) return null;
  const { first, after, ...state } = row;
  return { ...state, ordinals: first.map((start, i) => ({ first: start, end: after[i] ?? start })) };
}

/**
 * Per hook the ordinal of the owner's newest segment with it, or else of the newest verified one, or null; in the scope
 * `lineage` only the owner's.
 */
export async function findHooks(
  database: VaultDatabase,
  owner: string,
  hooks: readonly bigint[],
  scope: UploadScope,
): Promise<(number | null)[]> {
  if (hooks.length === 0) return [];
  const others = scope === "vault";
  // Null, if the vault has nothing of that owner.
  const ofOwner = (vault: number) => sql`(select owner from catalog_owners where vault = ${vault} and name = ${owner})`;
  const rows = await database.rows(
    (vault) => sql<{ position: number; ordinal: number }>`
      select distinct on (x.position) x.position, h.ordinal
      from unnest(${bigints(hooks)}::bigint[]) with ordinality as x (hook, position)
        cross join lateral (
          select owner, ordinal from catalog_hooks where vault = ${vault} and hook = x.hook offset 0
        ) as h
        cross join lateral (
          select verified from catalog_items where vault = ${vault} and ordinal = h.ordinal limit 1
        ) as i
      where h.owner = ${ofOwner(vault)} or (${others}::boolean and i.verified)
      order by x.position, (h.owner is not distinct from ${ofOwner(vault)}) desc, h.ordinal desc`,
  );
  const found = new Map(rows.map(({ position, ordinal }) => [position, ordinal]));
  return hooks.map((_, i) => found.get(i + 1) ?? null);
}

export async function readItems(database: VaultDatabase, ordinals: readonly number[]): Promise<(Item | null)[]> {
  const rows = await database.rows(
    (vault) => sql<ItemColumns>`
      select ${sql.raw(itemColumns)} from catalog_items i
      where i.vault = ${vault} and i.ordinal = any(${bigints(ordinals)}::bigint[])`,
  );
  return inOrder(ordinals, rows.map(itemOf), ({ ordinal }) => ordinal);
}

/** With block lists. */
export async function readFrames(database: VaultDatabase, frames: readonly number[]): Promise<(FrameRow | null)[]> {
  const rows = await database.rows(
    (vault) => sql<PlaceColumns & { block_list: Buffer }>`
      select ${sql.raw(placeColumns)}, f.block_list from catalog_frames f
      where f.vault = ${vault} and f.frame = any(${bigints(frames)}::bigint[])`,
  );
  return inOrder(frames, rows.map(frameOf), ({ frame }) => frame);
}

export async function readPlaces(database: VaultDatabase, frames: readonly number[]): Promise<(FramePlace | null)[]> {
  const rows = await database.rows(
    (vault) => sql<PlaceColumns>`
      select ${sql.raw(placeColumns)} from catalog_frames f
      where f.vault = ${vault} and f.frame = any(${bigints(frames)}::bigint[])`,
  );
  return inOrder(frames, rows.map(placeOf), ({ frame }) => frame);
}

export async function readPacks(database: VaultDatabase, packs: readonly string[]): Promise<(PackRow | null)[]> {
  const rows = await database.rows(
    (vault) => sql<PackColumns>`
      select ${sql.raw(packColumns)} from catalog_packs where vault = ${vault} and pack = any(${packs}::text[])`,
  );
  return inOrder(packs, rows.map(packOf), ({ pack }) => pack);
}

/** Whether the lease of an upload has ended. */
export async function hasExpired(database: VaultDatabase, now: number): Promise<boolean> {
  const rows = await database.rows(
    (vault) => sql`select 1 from catalog_uploads where vault = ${vault} and lease <= ${now}::bigint limit 1`,
  );
  return rows.length > 0;
}

/** The number that the next ordinal gets. */
export async function readNextOrdinal(database: VaultDatabase): Promise<number> {
  const [row] = await database.rows(
    (vault) => sql<{ next: number }>`select next_ordinal as next from catalogs where vault = ${vault}`,
  );
  if (row === undefined) throw new Error("a catalog has no row");
  return row.next;
}

export async function readSession(database: VaultDatabase, session: number): Promise<SessionRow | null> {
  const [row] = await database.rows(
    (vault) => sql<SessionRow>`
      select session, header from catalog_sessions where vault = ${vault} and session = ${session}::bigint`,
  );
  return row ?? null;
}

export async function readNonce(database: VaultDatabase, session: number): Promise<number | null> {
  const [row] = await database.rows(
    (vault) => sql<{ nonce: number }>`
      select nonce from catalog_claims where vault = ${vault} and session = ${session}::bigint`,
  );
  return row?.nonce ?? null;
}

export async function readSessionNumbers(database: VaultDatabase): Promise<SessionNumbers> {
  type Row = {
    readonly next: number;
    readonly stale: boolean;
    readonly running: readonly number[];
    readonly open: readonly number[];
    readonly nonces: readonly number[];
  };
  const [row] = await database.rows(
    (vault) => sql<Row>`
      select next_session as next, stale,
        array(select session from catalog_uploads where vault = ${vault} order by session) as running,
        array(select session from catalog_claims where vault = ${vault} and open order by session) as open,
        array(select nonce from catalog_claims where vault = ${vault} and open order by session) as nonces
      from catalogs where vault = ${vault}`,
  );
  if (row === undefined) throw new Error("a catalog has no row");
  const { next, stale, running, open, nonces } = row;
  return { running, next, open: open.map((session, i) => ({ session, nonce: nonces[i] ?? 0 })), stale };
}

export async function readRevision(database: VaultDatabase): Promise<number> {
  const [row] = await database.rows(
    (vault) => sql<{ revision: number }>`select revision from catalogs where vault = ${vault}`,
  );
  if (row === undefined) throw new Error("a catalog has no row");
  return row.revision;
}

export async function readRevocation(database: VaultDatabase, writer: string): Promise<number | null> {
  const [row] = await database.rows(
    (vault) => sql<{ session: number }>`
      select from_session as session from catalog_revoked_writers where vault = ${vault} and writer = ${writer}`,
  );
  return row?.session ?? null;
}

/** The marked frames in ascending order, after `after`. */
export async function readDamagedFrames(database: VaultDatabase, after: number): Promise<number[]> {
  const rows = await database.rows(
    (vault) => sql<{ frame: number }>`
      select frame from catalog_frames where vault = ${vault} and damaged and frame > ${after}::bigint
      order by frame limit ${maxDamagedFramesPerPage}::integer`,
  );
  return rows.map(({ frame }) => frame);
}
