/** What an implementation of the catalog port outside the engine needs: the port, and the decisions that all share. */

export * from "../catalog/catalog.ts";
export {
  assertDeletable,
  assertHeld,
  assertNewRows,
  assertSameRebuild,
  assertSameUpload,
  assertSlotsExist,
  drawNumber,
  framesNeededBy,
  framesOfUnit,
  isKnownTo,
  isNewerChange,
  itemFrames,
  slotCountOf,
} from "../catalog/rules.ts";
export type { EngineContext } from "../context.ts";
export { Bitmap } from "../format/bitmap.ts";
export type { ChainHead } from "../format/chain.ts";
export { emptyChain } from "../format/chain.ts";
export { decodeOrdinals, encodeOrdinals } from "../format/ordinal-list.ts";
