/**
 * The upload port: the interface through which a backup stores a snapshot. A target is one upload, named by an id that the
 * client has drawn. `LocalTarget` has the catalog and the object store in the same process; an agent uses the public API.
 *
 * Rules of every implementation (`testing/upload-target-conformance.ts` tests them)
 * 1. Every call may be repeated, because its answer may be lost. The second answer is like the first, and nothing is stored
 *    or registered twice.
 * 2. Any process may answer any call. What a call needs is in the catalog, in the store or in the call itself. A process
 *    keeps caches only.
 * 3. The client waits for the answer of `begin` before any other call, for all `putPack` of a unit before its `register`,
 *    and for everything before `complete`. All other calls may be in flight at the same time and arrive in any order.
 * 4. The packs of everything that is answered as known are pinned until the upload ends.
 * 5. What is registered is what the store has: rows of packs and frames are made from the footers of the stored packs.
 *    A client that stored nothing can register nothing and complete nothing.
 * 6. A call for an upload that has ended, has expired or belongs to another owner is refused, except a repeated `complete` or
 *    `abandon`.
 *
 * To *offer* segments or nodes is to send their ids. The answer says which of them are stored.
 */

import type { Item, OrdinalRange, SnapshotRow, UploadStart } from "../catalog/catalog.ts";
import type { SnapshotDraft } from "../format/manifest.ts";

/** A segment that may be stored, or whose blocks may be stored. */
export interface SegmentQuery {
  readonly id: Uint8Array;
  /**
   * 16 bytes per block. They are sent with every segment, also if the segment is known: they are 0.2 % of the content, and
   * a second query would be another round trip.
   */
  readonly blockIds: Uint8Array;
  readonly hooks: readonly bigint[];
  /** Ordinals of the segments at this place in the previous version of the file. */
  readonly oldSegments: readonly number[];
  /** The query before this one in the same call is the segment before it in the same file. */
  readonly continues: boolean;
  /** Hooks of the segment before it in the same file, where that one is in another call. */
  readonly precedingHooks: readonly bigint[];
}

/** What is stored of a segment: all of it (`ordinal`), or single blocks. */
export interface SegmentAnswer {
  /** The ordinal of the stored segment; 0 if it is not known. */
  readonly ordinal: number;
  /** Per block the number of the frame that has it; 0 if the block is not stored. Empty if the segment is known. */
  readonly frames: Float64Array;
  readonly slots: Uint32Array;
}

/** The block list of a data frame, which the store has only encrypted, and the metadata frame that has its copy. */
export interface FrameBlockList {
  readonly frame: number;
  readonly recordFrame: number;
  readonly blockList: Uint8Array;
}

/** Packs that are durable, and what they hold. Registered in one step. */
export interface ClientUnit {
  /** 1, 2, 3 … A number is registered once. */
  readonly number: number;
  /** The names of the packs. */
  readonly packs: readonly string[];
  /** One for each data frame in the packs. */
  readonly blockLists: readonly FrameBlockList[];
  readonly items: readonly ClientItem[];
  /** (hook, ordinal) */
  readonly hooks: readonly (readonly [bigint, number])[];
  /** (earlier, later): consecutive segments. */
  readonly follows: readonly (readonly [number, number])[];
}

/** A new segment or node. Its owner is the upload's, and nothing is verified yet. */
export type ClientItem = Pick<Item, "ordinal" | "kind" | "id" | "recipe" | "recordFrame">;

/** Segments in one call at most. A portion has about eight; the blocks of 512 segments are 1 MiB of ids. */
export const maxSegmentsPerOffer = 512;

/** Nodes in one call at most: 64 KiB of ids. */
export const maxNodesPerOffer = 2048;

export interface UploadTarget {
  /** Begins the upload. `base`: the snapshot that the file cache describes. */
  begin(base: string | null): Promise<UploadStart>;
  /** Reserves ordinals. `request` is 1, 2, 3 …; the same request gets the same ordinals. */
  reserveOrdinals(request: number, count: number): Promise<OrdinalRange>;
  /** What is stored of these segments. */
  offer(queries: readonly SegmentQuery[]): Promise<readonly SegmentAnswer[]>;
  /** The ordinals of the tree nodes that are stored, and null for the others. */
  offerNodes(ids: readonly Uint8Array[]): Promise<readonly (number | null)[]>;
  /**
   * Stores a pack while it is being filled. Its body may pause for as long as the backup finds nothing new. Up to three
   * packs are stored at the same time, and none waits for another. A chunk of the body is valid until the next one is
   * read. If the body fails, nothing is stored. A name that is taken is refused, unless it has the same pack.
   */
  putPack(name: string, body: AsyncIterable<Uint8Array>): Promise<void>;
  /** Registers packs that are durable, with their frames and items. */
  register(unit: ClientUnit): Promise<void>;
  /** Extends the lease. The client calls it by its clock, since a walk that finds nothing new makes no call for hours. */
  renew(): Promise<void>;
  /**
   * Completes the snapshot: stores the manifest, then adds the row. The row is read from the manifest and not taken from
   * the draft; time and retention are the target's decision.
   */
  complete(draft: SnapshotDraft): Promise<SnapshotRow>;
  /** Ends the upload without a snapshot. The next backup can use what was registered until it is pruned. */
  abandon(): Promise<void>;
}

/** An upload ends if its lease is not renewed for this long. The pins of a crashed backup end with it. */
export const uploadLeaseMs = 60 * 60_000;

/** Often enough that several renewals may fail, for example while the machine was suspended. */
export const renewEveryMs = uploadLeaseMs / 6;
