/**
 * What upkeep does to packs: condemned, deleting, gone; and frames that move. The functions run in the transaction of their
 * caller, under the exclusive lock of the vault.
 */

import type { FrameMove, MarkingResult, UploadUnit } from "@emanet/engine/catalog";
import { sql } from "kysely";
import { forgetDamagedFrames, forgetDamagedItems } from "./damage-store.ts";
import { insertPins, readNeededFrames, readPins, revive } from "./pin-store.ts";
import { bigints } from "./sql-arrays.ts";
import { registerReplacing } from "./unit-store.ts";
import { atCommit, rowsOf, type VaultTx } from "./vault-store.ts";

/** Condemns the packs without pins, if the revision is still that of the marking. */
export async function condemn(to: VaultTx, packs: readonly string[], marking: number): Promise<MarkingResult> {
  const { vault } = to;
  const [[catalog], rows] = await Promise.all([
    rowsOf(to, sql<{ revision: number }>`select revision from catalogs where vault = ${vault}`),
    rowsOf(
      to,
      sql<{ pack: string }>`
        update catalog_packs p set state = 'condemned', marking = ${marking}::bigint
        where p.vault = ${vault} and p.pack = any(${packs}::text[]) and p.state in ('live', 'condemned')
          and not exists (select from catalog_pins n where n.vault = ${vault} and n.pack = p.pack offset 0)
          and exists (select from catalogs where vault = ${vault} and revision = ${marking}::bigint)
        returning p.pack`,
    ),
  ]);
  const condemned = new Set(rows.map(({ pack }) => pack));
  return { condemned: packs.filter((pack) => condemned.has(pack)), revisionChanged: catalog?.revision !== marking };
}

/** The markings that have condemned these packs, of packs that no upload pins. */
async function condemnedBy({ db, vault }: VaultTx, packs: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ pack: string; marking: number }>`
    select p.pack, p.marking from catalog_packs p
    where p.vault = ${vault} and p.pack = any(${packs}::text[]) and p.state = 'condemned'
      and not exists (select from catalog_pins n where n.vault = ${vault} and n.pack = p.pack offset 0)`.execute(db);
  return new Map(rows.map((row) => [row.pack, row.marking]));
}

export async function beginDelete(
  to: VaultTx,
  pack: string,
  marking: number,
  deadItems: readonly number[],
): Promise<boolean> {
  if ((await condemnedBy(to, [pack])).get(pack) !== marking) return false;
  toDeleting(to, [pack]);
  deleteItems(to, deadItems);
  return true;
}

/** Makes packs `deleting`, and removes the frames that are still in them. */
function toDeleting(to: VaultTx, packs: readonly string[]): void {
  const { vault } = to;
  const ofPacks = sql`vault = ${vault} and pack = any(${packs}::text[])`;
  atCommit(to, sql`update catalog_packs set state = 'deleting' where ${ofPacks}`);
  atCommit(
    to,
    sql`delete from catalog_damaged_items
      where vault = ${vault} and frame = any(array(select frame from catalog_frames where ${ofPacks}))`,
  );
  atCommit(to, sql`delete from catalog_frames where ${ofPacks}`);
}

/** Removes items, with the hooks that lead to them. */
function deleteItems(to: VaultTx, ordinals: readonly number[]): void {
  if (ordinals.length === 0) return;
  const { vault } = to;
  const dead = sql`${bigints(ordinals)}::bigint[]`;
  forgetDamagedItems(to, ordinals);
  // By their places, which do not change under the exclusive lock: the vault's hooks are never read as a whole.
  atCommit(
    to,
    sql`delete from catalog_hooks h using (
        select hook.ctid as place from unnest(${dead}) as x (ordinal)
          cross join lateral (
            select ctid from catalog_hooks where vault = ${vault} and ordinal = x.ordinal offset 0
          ) as hook
      ) as found
      where h.ctid = found.place`,
  );
  atCommit(to, sql`delete from catalog_items where vault = ${vault} and ordinal = any(${dead})`);
}

export interface Move {
  readonly unit: UploadUnit;
  readonly moves: readonly FrameMove[];
  readonly deadItems: readonly number[];
}

/** Replaces frames by their rewritten versions, all or none. The caller raises the revision if they have moved. */
export async function moveFrames(to: VaultTx, { unit, moves, deadItems }: Move): Promise<boolean> {
  const { vault } = to;
  const frames = moves.map((move) => move.to.frame);
  const left = moves.flatMap(({ from }) => (from.marking === null ? [] : [[from.pack, from.marking] as const]));
  const [places, condemned, pins] = await Promise.all([
    rowsOf(
      to,
      sql<{ frame: number; pack: string; generation: number }>`
        select frame, pack, generation from catalog_frames
        where vault = ${vault} and frame = any(${bigints(frames)}::bigint[])`,
    ),
    condemnedBy(
      to,
      left.map(([pack]) => pack),
    ),
    readPins(
      to,
      moves.map(({ from }) => from.pack),
    ),
  ]);
  const placeOf = new Map(places.map((place) => [place.frame, place]));
  for (const move of moves) {
    const place = placeOf.get(move.to.frame);
    if (place?.pack !== move.from.pack || place.generation !== move.from.generation) return false;
  }
  if (!left.every(([pack, marking]) => condemned.get(pack) === marking)) return false;
  await registerReplacing(
    to,
    unit,
    moves.map((move) => move.to),
  );
  forgetDamagedFrames(to, frames);
  await pinMoved(to, moves, pins);
  deleteItems(to, deadItems);
  if (left.length > 0)
    toDeleting(
      to,
      left.map(([pack]) => pack),
    );
  return true;
}

/** An upload that uses a frame which has moved needs the packs where it and its block list are now. */
async function pinMoved(
  to: VaultTx,
  moves: readonly FrameMove[],
  pins: ReadonlyMap<string, ReadonlySet<number>>,
): Promise<void> {
  const pinned = moves.filter(({ from }) => pins.has(from.pack));
  if (pinned.length === 0) return;
  const needed = await readNeededFrames(
    to,
    pinned.map((move) => move.to.frame),
  );
  const added = pinned.flatMap((move) => {
    const packs = [...needed.packsOf([move.to.frame]).packs];
    return [...(pins.get(move.from.pack) ?? [])].flatMap((session) => packs.map((pack) => [session, pack] as const));
  });
  revive(to, needed.condemned(new Set(added.map(([, pack]) => pack))));
  insertPins(to, added);
}

/** The size of the pack; null if it has no row any more. */
export async function forgetPack(to: VaultTx, pack: string): Promise<number | null> {
  const [row] = await rowsOf(
    to,
    sql<{ size: number }>`
      delete from catalog_packs where vault = ${to.vault} and pack = ${pack} and state = 'deleting' returning size`,
  );
  return row?.size ?? null;
}
