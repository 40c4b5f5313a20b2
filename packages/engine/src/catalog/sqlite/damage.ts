/**
 * Damage marks in the SQLite catalog: which frames are damaged, and which items have bytes in them. The items are found when
 * a mark is set, so that an upload that begins reads a short list. The functions run in the transaction of their caller.
 */

import type { FrameVersion, Item } from "../catalog.ts";
import { maxDamagedFramesPerPage } from "../catalog.ts";
import { itemFrames } from "../rules.ts";
import type { Sql } from "./rows.ts";
import { integer, itemOf } from "./rows.ts";

/** Sets marks, and finds the items that they concern. */
export function markDamaged(sql: Sql, versions: readonly FrameVersion[]): void {
  const mark = sql("update frames set damaged = 1 where frame = ? and pack = ? and generation = ? and damaged = 0");
  const marked = new Set<number>();
  for (const { frame, pack, generation } of versions)
    if (mark.run(frame, pack, generation).changes === 1) marked.add(frame);
  if (marked.size === 0) return;
  for (const row of sql("select * from items").iterate()) addDamagedItem(sql, itemOf(row), marked);
}

export function clearDamaged(sql: Sql, versions: readonly FrameVersion[]): void {
  const clear = sql("update frames set damaged = 0 where frame = ? and pack = ? and generation = ?");
  for (const { frame, pack, generation } of versions)
    if (clear.run(frame, pack, generation).changes === 1) forgetDamagedFrame(sql, frame);
}

/** For a frame that was replaced or that an unmarked version follows. */
export function forgetDamagedFrame(sql: Sql, frame: number): void {
  sql("delete from damaged_items where frame = ?").run(frame);
}

/** For items that were added, or have a new recipe: an upload may have pinned their frames before these were marked. */
export function addDamagedItems(sql: Sql, items: readonly Item[]): void {
  const damaged = sql("select 1 from frames where damaged = 1 and frame = ?");
  if (sql("select 1 from frames where damaged = 1 limit 1").get() === undefined) return;
  for (const item of items) {
    sql("delete from damaged_items where ordinal = ?").run(item.ordinal);
    const frames = itemFrames(item).filter((frame) => damaged.get(frame) !== undefined);
    addDamagedItem(sql, item, new Set(frames));
  }
}

/** The marked frames in ascending order, from `after` on. */
export function damagedFrames(sql: Sql, after: number): number[] {
  return sql("select frame from frames where damaged = 1 and frame > ? order by frame limit ?")
    .all(after, maxDamagedFramesPerPage)
    .map((row) => integer(row, "frame"));
}

/** The ordinals of items whose bytes are in such a frame. */
export function damagedItems(sql: Sql): number[] {
  return sql("select distinct ordinal from damaged_items order by ordinal")
    .all()
    .map((row) => integer(row, "ordinal"));
}

function addDamagedItem(sql: Sql, item: Item, damaged: ReadonlySet<number>): void {
  for (const frame of itemFrames(item))
    if (damaged.has(frame)) sql("insert or ignore into damaged_items values (?, ?)").run(frame, item.ordinal);
}
