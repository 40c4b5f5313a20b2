/**
 * Damage marks: which frames are damaged, and which items have bytes in them. The list of items is kept, so that an upload
 * that begins reads a short list.
 *
 * Setting a mark searches all items of the vault for the frame. The search goes in pages, each a transaction of its own, and
 * `catalogs.damage_searched` says how far it got: no other step waits for the whole of it. The mark is set first, so that
 * items that are registered meanwhile are found by their own step. An upload that begins continues a search that was not
 * finished (its process died) and begins after it, so no upload gets an incomplete list.
 */

import type { FrameVersion, Item } from "@emanet/engine/catalog";
import { itemFrames } from "@emanet/engine/catalog";
import { sql } from "kysely";
import { bigints } from "./sql-arrays.ts";
import { atCommit, rowsOf, type VaultDatabase, type VaultTx } from "./vault-store.ts";

/** Items read at a time: some hundred kilobytes, some ten milliseconds. */
const itemsPerPage = 5_000;

/** Sets or clears marks. Returns whether items must be searched for new ones. */
export async function markFrames(to: VaultTx, versions: readonly FrameVersion[], damaged: boolean): Promise<boolean> {
  const { vault } = to;
  const rows = await rowsOf(
    to,
    sql<FrameVersion>`
      select frame, pack, generation from catalog_frames
      where vault = ${vault} and frame = any(${bigints(versions.map(({ frame }) => frame))}::bigint[])
        and damaged <> ${damaged}`,
  );
  const present = new Map(rows.map((row) => [row.frame, row]));
  const changed = versions.filter(({ frame, pack, generation }) => {
    const row = present.get(frame);
    return row?.pack === pack && row.generation === generation;
  });
  if (changed.length === 0) return false;
  const frames = changed.map(({ frame }) => frame);
  atCommit(
    to,
    sql`update catalog_frames set damaged = ${damaged}
      where vault = ${vault} and frame = any(${bigints(frames)}::bigint[])`,
  );
  if (damaged) atCommit(to, sql`update catalogs set damage_searched = 0 where vault = ${vault}`);
  else forgetDamagedFrames(to, frames);
  return damaged;
}

/** Searches the items, from where the last search has stopped. */
export async function searchDamagedItems(database: VaultDatabase): Promise<void> {
  while (!(await database.write("shared", searchPage)));
}

/** Returns whether the search has ended. */
async function searchPage(to: VaultTx): Promise<boolean> {
  const { vault } = to;
  // The row is not locked: commits need it. Two processes may search the same page, and find the same.
  const [catalog] = await rowsOf(
    to,
    sql<{ after: number | null }>`select damage_searched as after from catalogs where vault = ${vault}`,
  );
  const after = catalog?.after ?? null;
  if (after === null) return true;
  const items = await rowsOf(
    to,
    sql<{ ordinal: number; recipe: Buffer }>`
      select ordinal, recipe from catalog_items where vault = ${vault} and ordinal > ${after}::bigint
      order by ordinal limit ${itemsPerPage}::integer`,
  );
  await addDamagedItems(to, items);
  const last = items.length < itemsPerPage ? null : (items.at(-1)?.ordinal ?? null);
  atCommit(
    to,
    sql`update catalogs set damage_searched = ${last}::bigint where vault = ${vault} and damage_searched = ${after}::bigint`,
  );
  return last === null;
}

/** Adds the items that have bytes in a damaged frame. Frames that are known to be intact are not asked for. */
export async function addDamagedItems(
  to: VaultTx,
  items: readonly Pick<Item, "ordinal" | "recipe">[],
  intact: ReadonlySet<number> = new Set(),
): Promise<void> {
  const framesOf = items.map(({ ordinal, recipe }) => ({ ordinal, frames: itemFrames({ recipe }) }));
  const frames = new Set(framesOf.flatMap((item) => item.frames.filter((frame) => !intact.has(frame))));
  if (frames.size === 0) return;
  const rows = await rowsOf(
    to,
    sql<{ frame: number }>`
      select frame from catalog_frames where vault = ${to.vault} and damaged and frame = any(${bigints(frames)}::bigint[])`,
  );
  const damaged = new Set(rows.map(({ frame }) => frame));
  const found = framesOf.flatMap((item) =>
    item.frames.filter((frame) => damaged.has(frame)).map((frame) => [frame, item.ordinal] as const),
  );
  if (found.length === 0) return;
  const [inFrames, ordinals] = [bigints(found.map(([frame]) => frame)), bigints(found.map(([, ordinal]) => ordinal))];
  atCommit(
    to,
    sql`insert into catalog_damaged_items (vault, frame, ordinal)
      select ${to.vault}::integer, frame, ordinal from unnest(${inFrames}::bigint[], ${ordinals}::bigint[]) as x (frame, ordinal)
      order by frame, ordinal on conflict do nothing`,
  );
}

/** For frames that have moved, or whose mark was cleared. */
export function forgetDamagedFrames(to: VaultTx, frames: readonly number[]): void {
  atCommit(
    to,
    sql`delete from catalog_damaged_items where vault = ${to.vault} and frame = any(${bigints(frames)}::bigint[])`,
  );
}

/** For items that are gone, or have a new recipe. */
export function forgetDamagedItems(to: VaultTx, ordinals: readonly number[]): void {
  atCommit(
    to,
    sql`delete from catalog_damaged_items where vault = ${to.vault} and ordinal = any(${bigints(ordinals)}::bigint[])`,
  );
}

/** The ordinals of items with bytes in a damaged frame. */
export async function readDamagedItems(to: VaultTx): Promise<number[]> {
  const rows = await rowsOf(
    to,
    sql<{ ordinal: number }>`
      select distinct ordinal from catalog_damaged_items where vault = ${to.vault} order by ordinal`,
  );
  return rows.map(({ ordinal }) => ordinal);
}
