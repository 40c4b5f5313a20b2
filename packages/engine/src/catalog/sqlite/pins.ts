/** Pins in the SQLite catalog: which upload needs which packs. The functions run in the transaction of their caller. */

import type { FrameMove, Item } from "../catalog.ts";
import { framesNeededBy } from "../rules.ts";
import type { Sql } from "./rows.ts";
import { integer, text } from "./rows.ts";

/** Pins the packs of all frames and of the records of their block lists, or none if one of them is not known. */
export function pinFrames(sql: Sql, upload: string, frames: readonly number[]): boolean {
  const { packs, isKnown } = packsOf(sql, frames);
  if (isKnown) pinPacks(sql, upload, packs);
  return isKnown;
}

/** Pins packs. A condemned one becomes live. */
function pinPacks(sql: Sql, upload: string, packs: Iterable<string>): void {
  for (const pack of packs) {
    const { changes } = sql("insert or ignore into pins values (?, ?)").run(pack, upload);
    if (changes === 1) sql("update packs set state = 'live' where pack = ? and state = 'condemned'").run(pack);
  }
}

/**
 * The packs of frames and of the records of their block lists, as far as the catalog has them. `isKnown`: it has them all,
 * and none is damaged or being deleted.
 */
function packsOf(
  sql: Sql,
  frames: readonly number[],
): { readonly packs: ReadonlySet<string>; readonly isKnown: boolean } {
  const packs = new Set<string>();
  let isKnown = true;
  const place = sql(
    "select frames.pack, record, damaged, state from frames join packs on packs.pack = frames.pack where frame = ?",
  );
  for (const frame of frames) {
    for (let at = frame; at !== 0; ) {
      const row = place.get(at);
      if (row === undefined || integer(row, "damaged") === 1 || text(row, "state") === "deleting") isKnown = false;
      if (row === undefined) break;
      packs.add(text(row, "pack"));
      at = integer(row, "record");
    }
  }
  return { packs, isKnown };
}

/** The uploads that have pinned all packs that an item needs: those that hold it are among them. */
export function uploadsPinning(sql: Sql, item: Item): readonly string[] {
  let uploads = sql("select upload from uploads").all();
  for (const pack of packsOf(sql, framesNeededBy(item)).packs) {
    const pinning = new Set(pinsOf(sql, pack));
    uploads = uploads.filter((row) => pinning.has(text(row, "upload")));
  }
  return uploads.map((row) => text(row, "upload"));
}

/** Pins everything that a new recipe needs, also where a frame is damaged: the uploads hold the item already. */
export function pinReplaced(sql: Sql, item: Item, uploads: readonly string[]): void {
  const { packs } = packsOf(sql, framesNeededBy(item));
  for (const upload of uploads) pinPacks(sql, upload, packs);
}

/** An upload that uses a frame which has moved needs the packs where it and its block list are now. */
export function pinMoved(sql: Sql, { from, to }: FrameMove): void {
  const { packs } = packsOf(sql, [to.frame]);
  for (const upload of pinsOf(sql, from.pack)) pinPacks(sql, upload, packs);
}

function pinsOf(sql: Sql, pack: string): string[] {
  return sql("select upload from pins where pack = ?")
    .all(pack)
    .map((row) => text(row, "upload"));
}

/** Whether this very marking has condemned the pack, and no upload pins it. */
export function isCondemned(sql: Sql, pack: string, marking: number): boolean {
  const found = sql("select 1 from packs where pack = ? and state = 'condemned' and marking = ?");
  return pinCount(sql, pack) === 0 && found.get(pack, marking) !== undefined;
}

function pinCount(sql: Sql, pack: string): number {
  return integer(sql("select count(*) as n from pins where pack = ?").get(pack) ?? {}, "n");
}
