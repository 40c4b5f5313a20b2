/** Decisions that all implementations of the catalog share, as pure functions. */

import type { EngineContext } from "../context.ts";
import type { Bitmap } from "../format/bitmap.ts";
import { decodeRecipe, framesOf } from "../format/recipe.ts";
import type { FramePlace, FrameRow, Item, NewUpload, SnapshotRow, UploadScope, UploadUnit } from "./catalog.ts";
import { CatalogError } from "./catalog.ts";

/** A JavaScript number holds six bytes exactly. */
const numberBytes = 6;

/** A random number for catalog ids and nonces; two equal ones are improbable. */
export function drawNumber(ctx: EngineContext): number {
  return Buffer.from(ctx.random(numberBytes)).readUIntBE(0, numberBytes);
}

/** The frames that hold an item's bytes. */
export function itemFrames(item: Pick<Item, "recipe">): number[] {
  return framesOf(decodeRecipe(item.recipe));
}

/** The frames that an item needs: those of its bytes, and that of the record by which a rebuild finds it. */
export function framesNeededBy(item: Pick<Item, "recipe" | "recordFrame">): number[] {
  const frames = itemFrames(item);
  return item.recordFrame === 0 || frames.includes(item.recordFrame) ? frames : [...frames, item.recordFrame];
}

/** The frames that the items of a unit and the block lists of its frames need. */
export function framesOfUnit(unit: UploadUnit): ReadonlySet<number> {
  const frames = new Set(unit.items.flatMap(framesNeededBy));
  for (const { recordFrame } of unit.frames) if (recordFrame !== 0) frames.add(recordFrame);
  return frames;
}

/** Whether an upload may know that an item is stored. */
export function isKnownTo(owner: string, scope: UploadScope, item: Pick<Item, "owner" | "verified">): boolean {
  return item.owner === owner || (item.verified && scope === "vault");
}

/** Throws `conflict` if a running upload of this name has another owner. */
export function assertSameUpload(upload: string, owner: string, begun: NewUpload): void {
  if (owner !== begun.owner) throw new CatalogError("conflict", `upload ${upload} is running`);
}

/** Throws `retained` if the snapshot is held or locked. One that is being deleted already is not protected. */
export function assertDeletable({ id, retention, status }: SnapshotRow, now: number): void {
  if (status !== "deleting" && (retention.hold || (retention.lockedUntil ?? 0) > now))
    throw new CatalogError("retained", `${id} is held or locked`);
}

/** Whether a record of the chain is newer than what is applied. Throws `conflict` if the snapshot is being deleted. */
export function isNewerChange({ id, changes, status }: SnapshotRow, sequence: number): boolean {
  if (status === "deleting") throw new CatalogError("conflict", `${id} is being deleted`);
  return sequence > changes;
}

/** Throws `not_closed` if a snapshot reaches an item that is neither in the base of its upload nor held by it (rule 4). */
export function assertHeld(reach: Bitmap, base: Bitmap, held: Bitmap): void {
  for (const ordinal of reach.minus(base).minus(held))
    throw new CatalogError("not_closed", `item ${ordinal} is neither in the base nor held by the upload`);
}

/** A frame without its block list. */
export function placeOf({ blockList: _, ...place }: FrameRow): FramePlace {
  return place;
}

/** The number of slots of an encoded block list: its leading varint. The rest is not decoded. */
export function slotCountOf(blockList: Uint8Array): number {
  let count = 0;
  let scale = 1;
  for (const byte of blockList) {
    count += (byte & 0x7f) * scale;
    if (byte < 0x80) break;
    scale *= 0x80;
  }
  return count;
}
