/**
 * The part of the catalog that upkeep needs: scans for marking, condemned packs, moved frames, rebuilding.
 *
 * A scan is read in pages, so it is not one state of the catalog: rows may be added, changed and removed between two
 * pages. Marking reads the revision first; every change that could make its scans wrong raises the revision, and then
 * `condemn` refuses. A row that is there during the whole scan is returned.
 */

import type { EngineContext } from "../context.ts";
import type { FrameMove, Item, MarkingResult, PackRow, RebuiltCatalog, ScannedFrame, UploadUnit } from "./rows.ts";

export interface UpkeepCatalog {
  revision(): Promise<number>;
  /** The bitmaps of all snapshots, and of the bases of running uploads: what marking starts from. */
  allReach(): AsyncIterable<Uint8Array>;
  allItems(): AsyncIterable<Item>;
  allFrames(): AsyncIterable<ScannedFrame>;
  allPacks(): AsyncIterable<PackRow>;
  packs(packs: readonly string[]): Promise<readonly (PackRow | null)[]>;
  /** The nonce of a session that this catalog issued itself; null for any other. */
  issuedNonce(session: number): Promise<number | null>;
  /**
   * Condemns the packs without pins, if the revision is still that of the marking. A pack that an older marking has
   * condemned belongs to this marking from now on: the older one must not delete it any more, since the pack may have been
   * pinned and used in between.
   */
  condemn(packs: readonly string[], marking: number): Promise<MarkingResult>;
  /** Makes the pack `deleting`. Returns false if it is pinned, or not condemned by this marking. */
  beginDelete(pack: string, marking: number, deadItems: readonly number[]): Promise<boolean>;
  /** Removes the row of a deleting pack, whose object is gone. */
  forgetPack(pack: string): Promise<void>;
  /**
   * Replaces frames by their rewritten versions, all or none. Returns false if a frame is no longer where `from` says, or
   * if a pack that it leaves is not condemned by that marking any more. The packs that were left become `deleting`, and
   * frames that stay in them are removed. Items that need dropped slots are removed in the same step, so that no upload gets
   * them as known. An upload that has pinned the pack of a frame pins its new pack too.
   */
  moveFrames(
    upload: string,
    now: number,
    unit: UploadUnit,
    moves: readonly FrameMove[],
    deadItems: readonly number[],
  ): Promise<boolean>;
  /** Removes everything. Draws a new catalog id and returns it. The first step of a rebuild. */
  clear(ctx: EngineContext): Promise<number>;
  /** Registers what a rebuild has found, without an upload. Rejects with `conflict` if another rebuild has begun since. */
  addRebuilt(found: RebuiltCatalog): Promise<void>;
}
