/**
 * Where a backup goes, as the pipeline sees it: questions that are answered in batches, packs, units and one completion.
 * `LocalTarget` answers from a catalog and an object store in the same process; the agent answers over the public API.
 */

import type { SnapshotRow, UploadStart, UploadUnit } from "../catalog/catalog.ts";
import type { SnapshotDraft } from "../format/manifest.ts";

/** A new segment's blocks, to be matched against what is stored. */
export interface SegmentQuery {
  /** 16 bytes per block. */
  readonly ids: Uint8Array;
  readonly hooks: readonly bigint[];
  /** Ordinal of the segment before it in the same file, or 0. */
  readonly previous: number;
  /** Ordinals of segments that stood at this place in the previous version. */
  readonly hints: readonly number[];
}

/** Per block where it is stored: a frame number (0: nowhere, send it) and a slot. */
export interface SegmentMatch {
  readonly frames: Float64Array;
  readonly slots: Uint32Array;
  /** A stored segment that shares blocks with it, or 0. */
  readonly relative: number;
}

export interface UploadTarget {
  begin(base: string | null): Promise<UploadStart>;
  reserveOrdinals(count: number): Promise<number>;
  /** Ordinals of the items that are stored and may be referred to; null for the others. */
  acquire(ids: readonly Uint8Array[]): Promise<readonly (number | null)[]>;
  match(queries: readonly SegmentQuery[]): Promise<readonly SegmentMatch[]>;
  /** Tells which relative a new segment had: the segment after it is looked for beside that relative. */
  remember(ordinal: number, relative: number): void;
  /**
   * Stores a pack, which is filled while it is stored: its body may be silent for as long as nothing new is found, and up
   * to three packs are stored side by side, none waiting for another. A piece may be used until the next one is asked for.
   * Where the body fails nothing is stored.
   */
  putPack(name: string, body: AsyncIterable<Uint8Array>): Promise<void>;
  register(unit: UploadUnit): Promise<void>;
  /**
   * Makes the snapshot: manifest first, then the row. The draft is read, not believed: the row that comes back is what
   * the manifest says, with the target's own time and retention.
   */
  complete(draft: SnapshotDraft): Promise<SnapshotRow>;
  /** Gives up. What was registered may be used by the next try until it is collected. */
  abandon(): Promise<void>;
}
