/** Decisions that all implementations of the catalog share, as pure functions. */

import type { EngineContext } from "../context.ts";
import { decodeRecipe, framesOf } from "../format/recipe.ts";
import type { Item, SnapshotRow } from "./catalog.ts";
import { CatalogError } from "./catalog.ts";

/** A JavaScript number holds six bytes exactly. */
const numberBytes = 6;

/** A random number for catalog ids and nonces; two equal ones are improbable. */
export function drawNumber(ctx: EngineContext): number {
  return Buffer.from(ctx.random(numberBytes)).readUIntBE(0, numberBytes);
}

/** The frames that hold an item's bytes. */
export function itemFrames(item: Item): number[] {
  return framesOf(decodeRecipe(item.recipe));
}

/** The frames that an item needs: those of its bytes, and that of the record by which a rebuild finds it. */
export function framesNeededBy(item: Item): number[] {
  const frames = itemFrames(item);
  return item.recordFrame === 0 || frames.includes(item.recordFrame) ? frames : [...frames, item.recordFrame];
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
