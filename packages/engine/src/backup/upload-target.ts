/**
 * The interface through which a backup stores a snapshot: it asks in batches what is already stored, stores packs, registers
 * units and completes the snapshot. `LocalTarget` has the catalog and the object store in the same process; the agent
 * uses the public API.
 */

import type { SnapshotRow, UploadStart, UploadUnit } from "../catalog/catalog.ts";
import type { SnapshotDraft } from "../format/manifest.ts";

/** A new segment whose blocks are matched against stored ones. */
export interface SegmentQuery {
  /** 16 bytes per block. */
  readonly ids: Uint8Array;
  readonly hooks: readonly bigint[];
  /** Ordinal of the segment before it in the same file, or 0. */
  readonly previous: number;
  /** Ordinals of the segments at this place in the previous version of the file. */
  readonly oldSegments: readonly number[];
}

/** Where each block is stored: frame number and slot. Frame 0: the block is not stored. */
export interface SegmentMatch {
  readonly frames: Float64Array;
  readonly slots: Uint32Array;
  /** Ordinal of a stored segment that probably shares blocks with it, or 0. */
  readonly similar: number;
}

export interface UploadTarget {
  /** Begins the upload. `base`: the snapshot that the file cache describes. */
  begin(base: string | null): Promise<UploadStart>;
  /** Reserves consecutive ordinals and returns the first. */
  reserveOrdinals(count: number): Promise<number>;
  /** Pins the items with these ids that are stored. Returns their ordinals, and null for the others. */
  acquire(ids: readonly Uint8Array[]): Promise<readonly (number | null)[]>;
  match(queries: readonly SegmentQuery[]): Promise<readonly SegmentMatch[]>;
  /** Notes the similar segment of a new segment, to match the segment after it. */
  noteSimilar(ordinal: number, similar: number): void;
  /**
   * Stores a pack while it is being filled. Its body may pause for as long as the backup finds nothing new. Up to three
   * packs are stored at the same time, and none waits for another. A piece of the body is valid until the next one is
   * asked for. If the body fails, nothing is stored.
   */
  putPack(name: string, body: AsyncIterable<Uint8Array>): Promise<void>;
  /** Registers packs that are durable, with their frames and items. */
  register(unit: UploadUnit): Promise<void>;
  /**
   * Completes the snapshot: stores the manifest, then adds the row. The row is read from the manifest and not taken from
   * the draft; time and retention are the target's decision.
   */
  complete(draft: SnapshotDraft): Promise<SnapshotRow>;
  /** Ends the upload without a snapshot. The next backup can use what was registered until it is pruned. */
  abandon(): Promise<void>;
}
