/** The part of the catalog that readers need: lookups, and marks for what reading has found. */

import type { SnapshotRow } from "../format/snapshot.ts";
import type { FramePlace, FrameRow, FrameVersion, Item, SessionRow, SnapshotInfo, SnapshotQuery } from "./rows.ts";

export interface ReaderCatalog {
  /** A snapshot with its bitmap; null if there is none of that id. */
  snapshot(id: string): Promise<SnapshotRow | null>;
  /** A page of snapshots without their bitmaps, in the order of `SnapshotKey`. */
  snapshotPage(query?: SnapshotQuery): Promise<readonly SnapshotInfo[]>;
  itemsByOrdinal(ordinals: readonly number[]): Promise<readonly (Item | null)[]>;
  /** Frames with their block lists. */
  frames(frames: readonly number[]): Promise<readonly (FrameRow | null)[]>;
  framePlaces(frames: readonly number[]): Promise<readonly (FramePlace | null)[]>;
  session(session: number): Promise<SessionRow | null>;

  /**
   * Sets or clears damage marks. A version that the catalog no longer has is ignored. Setting a mark may read all items, to
   * find those that the mark concerns: marks are rare, and uploads that begin later find the answer ready.
   */
  setDamaged(versions: readonly FrameVersion[], damaged: boolean): Promise<void>;
  /** The frames with a damage mark in ascending order, from `after` on; at most `maxDamagedFramesPerPage`. */
  damagedFrames(after?: number): Promise<readonly number[]>;
  setVerified(ordinals: readonly number[]): Promise<void>;
}
