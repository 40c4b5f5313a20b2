/** What an upload acquires: items and frames, pinned and held in one step. Runs in the transaction of its caller. */

import type { Item } from "@emanet/engine/catalog";
import { framesNeededBy, isKnownTo } from "@emanet/engine/catalog";
import { sql } from "kysely";
import { pinPacks, readNeededFrames } from "./pin-store.ts";
import { type ItemColumns, inOrder, itemColumns, itemOf } from "./rows.ts";
import { bigints, byteas } from "./sql-arrays.ts";
import { addHeld, knownUpload, type RunningUpload } from "./upload-store.ts";
import { rowsOf, type VaultTx } from "./vault-store.ts";

/** The items of these ids, pinned for the upload and held by it; null if an item is not known. */
export async function acquireItems(to: VaultTx, upload: string, ids: readonly Uint8Array[]): Promise<(Item | null)[]> {
  const keys = ids.map((id) => Buffer.from(id.buffer, id.byteOffset, id.length).toString("hex"));
  const [running, found] = await Promise.all([
    knownUpload(to, upload),
    findItems(to, new Map(ids.map((id, i) => [keys[i] ?? "", id]))),
  ]);
  const known = found.filter((item) => isKnownTo(running.owner_name, running.scope, item));
  if (known.length === 0) return ids.map(() => null);
  const taken = await pinItems(to, running, known);
  return keys.map((key) => taken.get(key) ?? null);
}

/** Items of these ids; of those with one id the verified ones first, then the newest. */
async function findItems(to: VaultTx, ids: ReadonlyMap<string, Uint8Array>): Promise<Item[]> {
  const rows = await rowsOf(
    to,
    sql<ItemColumns>`
      select ${sql.raw(itemColumns)} from unnest(${byteas([...ids.values()])}::bytea[]) as x (id)
        cross join lateral (select * from catalog_items where id = x.id and vault + 0 = ${to.vault} offset 0) as i
      order by i.verified desc, i.ordinal desc`,
  );
  return rows.map(itemOf);
}

/** Pins and holds, per id, the first of the items whose frames are all known. */
async function pinItems(
  to: VaultTx,
  { session, owner_name }: RunningUpload,
  items: readonly Item[],
): Promise<ReadonlyMap<string, Item>> {
  const needs = items.map((item) => ({ item, frames: framesNeededBy(item) }));
  const needed = await readNeededFrames(
    to,
    needs.flatMap(({ frames }) => frames),
  );
  const taken = new Map<string, Item>();
  const pinned = new Set<string>();
  for (const { item, frames } of needs) {
    const key = Buffer.from(item.id).toString("hex");
    if (taken.has(key)) continue;
    const { packs, isKnown } = needed.packsOf(frames);
    if (!isKnown) continue;
    taken.set(key, item);
    for (const pack of packs) pinned.add(pack);
  }
  pinPacks(to, session, pinned, needed);
  addHeld(
    to,
    session,
    [...taken.values()].map((item) => ({ ordinal: item.ordinal, isOwn: item.owner === owner_name })),
  );
  return taken;
}

/** Pins and holds the items of these ordinals. Returns which of them the upload holds now. */
export async function acquireOrdinals(to: VaultTx, upload: string, ordinals: readonly number[]): Promise<boolean[]> {
  const [running, rows] = await Promise.all([
    knownUpload(to, upload),
    rowsOf(
      to,
      sql<{ ordinal: number; recipe: Buffer; record: number; owner: number }>`
        select ordinal, recipe, record, owner from catalog_items
        where vault = ${to.vault} and ordinal = any(${bigints(new Set(ordinals))}::bigint[])`,
    ),
  ]);
  const items = inOrder(ordinals, rows, ({ ordinal }) => ordinal);
  const needs = items.map((row) => row && framesNeededBy({ recipe: row.recipe, recordFrame: row.record }));
  const isHeld = await pinEach(to, running.session, needs);
  addHeld(
    to,
    running.session,
    items.flatMap((item, i) =>
      item !== null && isHeld[i] ? { ordinal: item.ordinal, isOwn: item.owner === running.owner } : [],
    ),
  );
  return isHeld;
}

/** Pins frames. Returns which of them are pinned now. */
export async function acquireFrames(
  to: VaultTx,
  upload: string,
  frames: readonly number[],
  generations?: readonly number[],
): Promise<boolean[]> {
  const [running, rows] = await Promise.all([
    knownUpload(to, upload),
    rowsOf(
      to,
      sql<{ frame: number; generation: number }>`
        select frame, generation from catalog_frames
        where vault = ${to.vault} and frame = any(${bigints(new Set(frames))}::bigint[])`,
    ),
  ]);
  const needs = inOrder(frames, rows, ({ frame }) => frame).map((row, i) => {
    const isExpected = row !== null && (generations === undefined || row.generation === generations[i]);
    return isExpected ? [row.frame] : null;
  });
  return pinEach(to, running.session, needs);
}

/** Pins all of each list of frames, or none of it if one is not known. Returns which lists are pinned. */
async function pinEach(to: VaultTx, session: number, lists: readonly (readonly number[] | null)[]): Promise<boolean[]> {
  const needed = await readNeededFrames(
    to,
    lists.flatMap((frames) => frames ?? []),
  );
  const pinned = new Set<string>();
  const isPinned = lists.map((frames) => {
    if (frames === null) return false;
    const { packs, isKnown } = needed.packsOf(frames);
    if (isKnown) for (const pack of packs) pinned.add(pack);
    return isKnown;
  });
  pinPacks(to, session, pinned, needed);
  return isPinned;
}
