/** What the implementations of the catalog agree on, as pure functions. */

import type { EngineContext } from "../context.ts";
import { decodeRecipe, framesOf } from "../format/recipe.ts";
import type { Item, SnapshotRow } from "./catalog.ts";
import { CatalogError } from "./catalog.ts";

/** Bytes of a random number: what fits a number of the language exactly. */
const numberBytes = 6;

/** A random number that nobody draws twice: for incarnations and nonces. */
export function drawNumber(ctx: EngineContext): number {
  return Buffer.from(ctx.random(numberBytes)).readUIntBE(0, numberBytes);
}

/** The frames that an item's bytes are in. */
export function itemFrames(item: Item): number[] {
  return framesOf(decodeRecipe(item.recipe));
}

/** The frames that an item cannot do without: its bytes, and the record from which rebuild would find it. */
export function restingOn(item: Item): number[] {
  const frames = itemFrames(item);
  return item.record === 0 || frames.includes(item.record) ? frames : [...frames, item.record];
}

/** Throws `retained` where a hold or a lock protects the snapshot. What was decided before stays decided. */
export function assertDeletable({ id, retention, status }: SnapshotRow, now: number): void {
  if (status !== "deleting" && (retention.hold || (retention.lockedUntil ?? 0) > now))
    throw new CatalogError("retained", `${id} is held or locked`);
}

/** Whether a change of retention is the next one; false for one that is in the row already. */
export function takesChange({ id, changes, status }: SnapshotRow, number: number): boolean {
  if (status === "deleting") throw new CatalogError("conflict", `${id} is being deleted`);
  if (number > changes + 1) throw new CatalogError("conflict", `${id} has not seen change ${changes + 1}`);
  return number === changes + 1;
}
