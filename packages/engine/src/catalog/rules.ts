/** Decisions that all implementations of the catalog share, as pure functions. */

import type { EngineContext } from "../context.ts";
import type { Bitmap } from "../format/bitmap.ts";
import { decodeBlockList } from "../format/block-list.ts";
import { decodeRecipe, framesOf } from "../format/recipe.ts";
import type {
  FramePlace,
  FrameRow,
  Item,
  NewUpload,
  RebuiltCatalog,
  SnapshotInfo,
  UploadScope,
  UploadUnit,
} from "./catalog.ts";
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

/**
 * Throws `conflict` if a client's unit has a frame or an ordinal that is registered already. Other clients may use what is
 * verified, so its owner must not replace it, not even in the upload that stored it.
 */
export function assertNewRows(
  { frames, items }: UploadUnit,
  known: { readonly frame: (frame: number) => boolean; readonly item: (ordinal: number) => boolean },
): void {
  for (const { frame } of frames)
    if (known.frame(frame)) throw new CatalogError("conflict", `frame ${frame} is registered already`);
  for (const { ordinal } of items)
    if (known.item(ordinal)) throw new CatalogError("conflict", `item ${ordinal} is registered already`);
}

/**
 * Throws `not_closed` if a segment of a client's unit names slots that its frame does not have, or that upkeep has dropped.
 * Such a recipe would stop prune for all clients. `frameOf` finds a frame that the upload has stored or pinned.
 */
export function assertSlotsExist(
  { items }: UploadUnit,
  frameOf: (frame: number) => Pick<FrameRow, "kind" | "blockList"> | null,
): void {
  const lengths = new Map<number, Uint32Array>();
  const lengthsOf = (frame: number) => {
    const row = lengths.has(frame) ? null : frameOf(frame);
    if (row?.kind === "data") lengths.set(frame, decodeBlockList(row.blockList).lengths);
    return lengths.get(frame) ?? new Uint32Array(0);
  };
  for (const { kind, recipe, ordinal } of items) {
    if (kind !== "segment") continue;
    for (const run of decodeRecipe(recipe)) {
      if (run.kind !== "stored") continue;
      const slots = lengthsOf(run.frame).subarray(run.slot, run.slot + run.count);
      const bytes = slots.reduce((sum, length) => sum + length, 0);
      if (slots.length !== run.count || slots.includes(0) || bytes !== run.bytes)
        throw new CatalogError("not_closed", `item ${ordinal} names slots that frame ${run.frame} does not have`);
    }
  }
}

/** Throws `conflict` if another rebuild has cleared the catalog since this one did: the catalog would have a mixture of both. */
export function assertSameRebuild({ catalogId }: RebuiltCatalog, current: number): void {
  if (catalogId !== undefined && catalogId !== current)
    throw new CatalogError("conflict", "another rebuild of this catalog has begun");
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
export function assertDeletable({ id, retention, status }: SnapshotInfo, now: number): void {
  if (status !== "deleting" && (retention.hold || (retention.lockedUntil ?? 0) > now))
    throw new CatalogError("retained", `${id} is held or locked`);
}

/** Whether a record of the chain is newer than what is applied. Throws `conflict` if the snapshot is being deleted. */
export function isNewerChange({ id, changes, status }: SnapshotInfo, sequence: number): boolean {
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

/** Of several items with one id the verified ones come first, then the newest. */
export function verifiedFirst(a: Item, b: Item): number {
  return Number(b.verified) - Number(a.verified) || b.ordinal - a.ordinal;
}
