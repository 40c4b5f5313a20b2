/**
 * Running uploads: their rows, leases, reserved ordinals, and what they hold. The functions run in the transaction of their
 * caller.
 *
 * A step of an upload locks the upload's row first (`key share`), so that the upload cannot end within the step: a pin that
 * was inserted after the end would stay for ever.
 */

import type { NewUpload, OrdinalRange, UploadScope, UploadStart } from "@emanet/engine/catalog";
import { assertSameUpload, Bitmap, CatalogError, decodeOrdinals, encodeOrdinals } from "@emanet/engine/catalog";
import { sql } from "kysely";
import type { Tx } from "../kernel/tx.ts";
import { readDamagedItems } from "./damage-store.ts";
import { findOwners, ownerNumbers } from "./owner-store.ts";
import { bigints } from "./sql-arrays.ts";
import { atCommit, rowsOf, type VaultTx } from "./vault-store.ts";

export interface RunningUpload {
  readonly session: number;
  readonly lease: number;
  readonly scope: UploadScope;
  /** The number of the owner, and the name. */
  readonly owner: number;
  readonly owner_name: string;
}

/** The upload was begun by another process at the same moment: the step is repeated and finds it. */
export class BegunMeanwhile extends Error {
  override readonly name = "BegunMeanwhile";
}

/** Locks an upload against its end until the transaction ends; undefined if there is none of that name. */
async function lockUpload({ db, vault }: VaultTx, upload: string): Promise<RunningUpload | undefined> {
  const { rows } = await sql<RunningUpload>`
    select u.session, u.lease, u.scope, u.owner, o.name as owner_name
    from catalog_uploads u join catalog_owners o on o.vault = ${vault} and o.owner = u.owner
    where u.vault = ${vault} and u.upload = ${upload} for key share of u`.execute(db);
  return rows[0];
}

/**
 * For other domains: keeps a running upload from ending until the transaction ends. What they write about it is then there
 * when `ended` is told. Returns false if there is none of that name.
 */
export async function holdUpload(tx: Tx, vaultId: string, upload: string): Promise<boolean> {
  const [, { rows }] = await Promise.all([
    sql`select use_vault(${vaultId})`.execute(tx.db),
    sql`select 1 from catalog_uploads
      where vault = (select current_vault()) and upload = ${upload} for key share`.execute(tx.db),
  ]);
  return rows.length > 0;
}

/** Throws `unknown_upload` if there is none of that name. */
export async function knownUpload(to: VaultTx, upload: string): Promise<RunningUpload> {
  const running = await lockUpload(to, upload);
  if (running === undefined) throw new CatalogError("unknown_upload", upload);
  return running;
}

/** An upload whose lease has not ended. */
export async function leasedUpload(to: VaultTx, upload: string, now: number): Promise<RunningUpload> {
  const running = await knownUpload(to, upload);
  assertLease(running, upload, now);
  return running;
}

function assertLease({ lease }: Pick<RunningUpload, "lease">, upload: string, now: number): void {
  if (lease <= now) throw new CatalogError("lease_expired", upload);
}

interface CatalogNumbers {
  readonly catalog_id: number;
  readonly stale: boolean;
  readonly next_ordinal: number;
  readonly damage_searched: number | null;
}

/** Answers `search_damage` where the list of damaged items is not complete yet: its search must end first. */
export async function beginUpload(
  to: VaultTx,
  begun: NewUpload,
  nonce: number,
): Promise<UploadStart | "search_damage"> {
  const { upload, owner, base, ordinals = 0 } = begun;
  const [running, isBaseThere, owners, damaged, [numbers]] = await Promise.all([
    lockUpload(to, upload),
    lockSnapshot(to, base),
    findOwners(to, [owner]),
    readDamagedItems(to),
    rowsOf(
      to,
      sql<CatalogNumbers>`
        select catalog_id, stale, next_ordinal, damage_searched from catalogs where vault = ${to.vault}`,
    ),
  ]);
  if (numbers === undefined) throw new Error("a catalog has no row");
  if (numbers.stale) throw new CatalogError("stale", "another catalog has used its numbers");
  if (numbers.damage_searched !== null) return "search_damage";
  const catalogId = numbers.catalog_id;
  if (running !== undefined) {
    assertSameUpload(upload, running.owner_name, begun);
    const range = await reserve(to, ordinals, { session: running.session, request: 0 });
    return { session: running.session, nonce: await nonceOf(to, running.session), catalogId, damaged, ordinals: range };
  }
  if (base !== null && !isBaseThere) throw new CatalogError("unknown_snapshot", base);
  const number = owners.get(owner) ?? (await ownerNumbers(to, [owner])).get(owner) ?? 0;
  return { ...(await insertUpload(to, begun, number, nonce)), nonce, catalogId, damaged };
}

/** Locks the base, so that its row is there until the upload's own row has its bitmap. */
async function lockSnapshot({ db, vault }: VaultTx, id: string | null): Promise<boolean> {
  if (id === null) return false;
  const { rows } = await sql`
    select 1 from catalog_snapshots where vault = ${vault} and id = ${id} for key share`.execute(db);
  return rows.length > 0;
}

/** Takes a session number and ordinals, and inserts the upload with its open claim. */
async function insertUpload(
  to: VaultTx,
  { upload, leaseUntil, base, scope = "vault", ordinals = 0 }: NewUpload,
  owner: number,
  nonce: number,
): Promise<Pick<UploadStart, "session" | "ordinals">> {
  const { vault } = to;
  const [begun] = await rowsOf(
    to,
    sql<{ session: number; first: number; inserted: number }>`
      with taken as (
        update catalogs set next_session = next_session + 1, next_ordinal = next_ordinal + ${ordinals}::bigint
        where vault = ${vault} returning next_session - 1 as session, next_ordinal - ${ordinals}::bigint as first
      ), claim as (
        insert into catalog_claims (vault, session, nonce, open)
        select ${vault}::integer, session, ${nonce}::bigint, true from taken
      ), reservation as (
        insert into catalog_reservations (vault, session, request, first, after)
        select ${vault}::integer, session, 0, first, first + ${ordinals}::bigint from taken where ${ordinals}::bigint > 0
      ), inserted as (
        insert into catalog_uploads (vault, upload, session, owner, lease, scope, reach, is_own_base)
        select ${vault}::integer, ${upload}, taken.session, ${owner}::integer, ${leaseUntil}::bigint, ${scope},
          coalesce(base.reach, ''), coalesce(base.owner = ${owner}::integer, false)
        from taken left join catalog_snapshots base on base.vault = ${vault} and base.id = ${base}::text
        on conflict do nothing returning session
      )
      select taken.session, taken.first, (select count(*) from inserted) as inserted from taken`,
  );
  if (begun === undefined) throw new Error("a catalog has no row");
  if (begun.inserted === 0) throw new BegunMeanwhile(upload);
  return { session: begun.session, ordinals: { first: begun.first, end: begun.first + ordinals } };
}

async function nonceOf(to: VaultTx, session: number): Promise<number> {
  const claim = sql<{ nonce: number }>`
    select nonce from catalog_claims where vault = ${to.vault} and session = ${session}`;
  const [row] = await rowsOf(to, claim);
  if (row === undefined) throw new Error("a running upload has no claim");
  return row.nonce;
}

/** Reserves ordinals for a request of an upload, or returns those that it got before. */
export async function reserve(
  to: VaultTx,
  count: number,
  by: { readonly session: number; readonly request: number } | null,
): Promise<OrdinalRange> {
  const { vault } = to;
  const { session, request } = by ?? { session: -1, request: 0 };
  // The row of the catalog is the lock: the request is looked up once no other process can be reserving for it.
  const [[numbers], [known]] = await Promise.all([
    rowsOf(to, sql<{ first: number }>`select next_ordinal as first from catalogs where vault = ${vault} for update`),
    rowsOf(
      to,
      sql<OrdinalRange>`select first, after as end from catalog_reservations
        where vault = ${vault} and session = ${session}::bigint and request = ${request}::bigint`,
    ),
  ]);
  if (numbers === undefined) throw new Error("a catalog has no row");
  if (known !== undefined) return known;
  const range = { first: numbers.first, end: numbers.first + count };
  if (count === 0) return range;
  atCommit(to, sql`update catalogs set next_ordinal = ${range.end}::bigint where vault = ${vault}`);
  if (by !== null)
    atCommit(
      to,
      sql`insert into catalog_reservations (vault, session, request, first, after)
        values (${vault}, ${session}, ${request}, ${range.first}, ${range.end})`,
    );
  return range;
}

/** An item that an upload has acquired or registered. */
export interface HeldItem {
  readonly ordinal: number;
  /** Its owner is the upload's. */
  readonly isOwn: boolean;
}

/** Adds to what the upload holds: one short row per call, and another one for items of other owners. */
export function addHeld(to: VaultTx, session: number, items: readonly HeldItem[]): void {
  for (const own of [true, false]) {
    const ordinals = items.filter(({ isOwn }) => isOwn === own).map(({ ordinal }) => ordinal);
    if (ordinals.length === 0) continue;
    atCommit(
      to,
      sql`insert into catalog_held (vault, session, is_own, ordinals)
        values (${to.vault}, ${session}, ${own}, ${encodeOrdinals(ordinals)})`,
    );
  }
}

export interface CommittingUpload extends RunningUpload {
  readonly base: Bitmap;
  readonly held: Bitmap;
  /** Those of the base and of what it holds that are known to be its owner's. */
  readonly own: Bitmap;
}

/** An upload that is about to end with a snapshot: locked for that, with what it holds. */
export async function committingUpload(to: VaultTx, upload: string, now: number): Promise<CommittingUpload> {
  const { vault } = to;
  const [[running], rows] = await Promise.all([
    rowsOf(
      to,
      sql<RunningUpload & { reach: Buffer; is_own_base: boolean }>`
        select u.session, u.lease, u.scope, u.owner, o.name as owner_name, u.reach, u.is_own_base
        from catalog_uploads u join catalog_owners o on o.vault = ${vault} and o.owner = u.owner
        where u.vault = ${vault} and u.upload = ${upload} for update of u`,
    ),
    rowsOf(
      to,
      sql<{ ordinals: Buffer; is_own: boolean }>`
        select ordinals, is_own from catalog_held where vault = ${vault}
          and session = (select session from catalog_uploads where vault = ${vault} and upload = ${upload})`,
    ),
  ]);
  if (running === undefined) throw new CatalogError("unknown_upload", upload);
  assertLease(running, upload, now);
  const base = Bitmap.decode(running.reach);
  const [held, own] = [new Bitmap(), new Bitmap()];
  for (const { ordinals, is_own } of rows) {
    const into = is_own ? own : held;
    for (const ordinal of decodeOrdinals(ordinals)) into.add(ordinal);
  }
  held.or(own);
  if (running.is_own_base) own.or(base);
  return { ...running, base, held, own };
}

/** Which uploads end: one by its name, or all whose lease has ended. */
export type Ending = { readonly upload: string } | { readonly leaseUntil: number } | "all";

/** Ends uploads and removes their pins. Returns their names. */
export async function endUploads(to: VaultTx, which: Ending): Promise<string[]> {
  const { vault } = to;
  const chosen =
    which === "all"
      ? sql`true`
      : "upload" in which
        ? sql`upload = ${which.upload}`
        : sql`lease <= ${which.leaseUntil}::bigint`;
  // First the rows of the uploads: this waits for their running steps, whose pins the next statements then see.
  const ended = await rowsOf(
    to,
    sql<{ upload: string; session: number }>`
      delete from catalog_uploads u using (
        select upload from catalog_uploads where vault = ${vault} and ${chosen} order by upload for update
      ) as x
      where u.vault = ${vault} and u.upload = x.upload returning u.upload, u.session`,
  );
  if (ended.length === 0) return [];
  const sessions = bigints(ended.map(({ session }) => session));
  for (const table of ["catalog_pins", "catalog_reservations", "catalog_held", "catalog_units"])
    atCommit(to, sql`delete from ${sql.table(table)} where vault = ${vault} and session = any(${sessions}::bigint[])`);
  return ended.map(({ upload }) => upload);
}

/** Closes a claim. One that is not `ours` makes the catalog stale. */
export function settleClaim(to: VaultTx, session: number, ours: boolean): void {
  const { vault } = to;
  atCommit(to, sql`update catalog_claims set open = false where vault = ${vault} and session = ${session}::bigint`);
  if (!ours) atCommit(to, sql`update catalogs set stale = true where vault = ${vault}`);
}

export async function renewUpload(to: VaultTx, upload: string, now: number, leaseUntil: number): Promise<void> {
  await leasedUpload(to, upload, now);
  atCommit(
    to,
    sql`update catalog_uploads set lease = ${leaseUntil}::bigint where vault = ${to.vault} and upload = ${upload}`,
  );
}
