/** Pins in the SQLite catalog: which upload needs which packs. The functions run in the transaction of their caller. */

import type { Bitmap } from "../../format/bitmap.ts";
import type { Item } from "../catalog.ts";
import { framesNeededBy } from "../rules.ts";
import type { Sql } from "./rows.ts";
import { integer, itemOf, text } from "./rows.ts";

/** Pins the packs of all frames and of the records of their block lists, or none if one of them is not known. */
export function pinFrames(sql: Sql, upload: string, frames: readonly number[]): boolean {
  const packs = packsOf(sql, frames);
  if (packs === null) return false;
  for (const pack of packs) {
    const { changes } = sql("insert or ignore into pins values (?, ?)").run(pack, upload);
    if (changes === 1) sql("update packs set state = 'live' where pack = ? and state = 'condemned'").run(pack);
  }
  return true;
}

/** The packs of frames and of the records of their block lists; null if a frame is damaged, unknown or being deleted. */
function packsOf(sql: Sql, frames: readonly number[]): ReadonlySet<string> | null {
  const packs = new Set<string>();
  const place = sql(
    "select frames.pack, record, damaged, state from frames join packs on packs.pack = frames.pack where frame = ?",
  );
  for (const frame of frames) {
    for (let at = frame; at !== 0; ) {
      const row = place.get(at);
      if (row === undefined || integer(row, "damaged") === 1 || text(row, "state") === "deleting") return null;
      packs.add(text(row, "pack"));
      at = integer(row, "record");
    }
  }
  return packs;
}

/** The uploads that have pinned all packs that an item needs. */
export function uploadsPinning(sql: Sql, item: Item): readonly string[] {
  const packs = [...(packsOf(sql, framesNeededBy(item)) ?? [])];
  const uploadsPerPack = packs.map(
    (pack) =>
      new Set(
        sql("select upload from pins where pack = ?")
          .all(pack)
          .map((row) => text(row, "upload")),
      ),
  );
  const [first, ...others] = uploadsPerPack;
  return [...(first ?? [])].filter((upload) => others.every((each) => each.has(upload)));
}

/** The first item of the set that needs a pack which the upload has not pinned, or null. */
export function firstUnpinned(sql: Sql, upload: string, wanted: Bitmap): number | null {
  const pinned = sql("select 1 from frames join pins on pins.pack = frames.pack and upload = ? where frame = ?");
  const find = sql("select * from items where ordinal = ?");
  for (const ordinal of wanted) {
    const row = find.get(ordinal);
    const isPinned = (frame: number) => pinned.get(upload, frame) !== undefined;
    if (row === undefined || !framesNeededBy(itemOf(row)).every(isPinned)) return ordinal;
  }
  return null;
}

/** Whether this very marking has condemned the pack, and no upload pins it. */
export function isCondemned(sql: Sql, pack: string, marking: number): boolean {
  const found = sql("select 1 from packs where pack = ? and state = 'condemned' and marking = ?");
  return pinCount(sql, pack) === 0 && found.get(pack, marking) !== undefined;
}

function pinCount(sql: Sql, pack: string): number {
  return integer(sql("select count(*) as n from pins where pack = ?").get(pack) ?? {}, "n");
}
