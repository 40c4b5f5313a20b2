/** What the catalog's methods take and return. `catalog.ts` has the nouns. */

import type { ChainHead } from "../format/chain.ts";
import type { FrameKind } from "../format/frame.ts";
import type { SnapshotRow } from "../format/snapshot.ts";

export type { Retention, SnapshotRow, SnapshotStatus } from "../format/snapshot.ts";

export type ItemKind = "segment" | "node";

/** A segment or node. */
export interface Item {
  readonly ordinal: number;
  readonly kind: ItemKind;
  readonly id: Uint8Array;
  readonly recipe: Uint8Array;
  /** The metadata frame that holds its record: for a node the same frame as in its recipe. */
  readonly recordFrame: number;
  /** The ordinal of the segment that followed it when its owner last stored it, or 0. */
  readonly next: number;
  readonly owner: string;
  readonly verified: boolean;
}

/** Where a frame is, and in which version. */
export interface FramePlace {
  readonly frame: number;
  readonly generation: number;
  readonly kind: FrameKind;
  readonly pack: string;
  readonly offset: number;
  readonly length: number;
  readonly frameId: Uint8Array;
  /** The sealing session. */
  readonly session: number;
  /** The metadata frame that holds a copy of the block list; 0 for metadata frames. */
  readonly recordFrame: number;
  readonly damaged: boolean;
}

/** A frame with its block list: some kilobytes. */
export interface FrameRow extends FramePlace {
  /** Encoded block list; empty for metadata frames. */
  readonly blockList: Uint8Array;
}

/** A frame as a scan of all frames returns it: with the number of its slots instead of the block list. */
export interface ScannedFrame extends FramePlace {
  /** 0 for metadata frames. */
  readonly slotCount: number;
}

export type PackState = "live" | "condemned" | "deleting";

export interface PackRow {
  readonly pack: string;
  readonly session: number;
  readonly size: number;
  readonly state: PackState;
}

export interface SessionRow {
  readonly session: number;
  /** The signed header; empty until the first pack is registered. */
  readonly header: Uint8Array;
}

/**
 * Which stored items an upload may know. `vault`: items of its owner, and verified items of others. `lineage`: items of its owner only, so
 * that a write-only client learns nothing of what others stored.
 */
export type UploadScope = "vault" | "lineage";

export interface NewUpload {
  readonly upload: string;
  readonly owner: string;
  readonly leaseUntil: number;
  /** A snapshot whose content counts as pinned, or null. */
  readonly base: string | null;
  /** `vault` if absent. */
  readonly scope?: UploadScope | undefined;
  /** Ordinals that are reserved with the upload, as its request 0. None if absent. */
  readonly ordinals?: number | undefined;
}

/** Consecutive ordinals: `first`, and the one after the last. */
export interface OrdinalRange {
  readonly first: number;
  readonly end: number;
}

/** A running upload, as every process finds it in the catalog. */
export interface UploadState {
  readonly owner: string;
  readonly scope: UploadScope;
  readonly session: number;
  readonly nonce: number;
  readonly leaseUntil: number;
  /** All ordinals that the upload has reserved. */
  readonly ordinals: readonly OrdinalRange[];
}

export interface UploadStart {
  readonly session: number;
  /** Drawn with the session number: two catalogs that issue the same number draw different nonces. */
  readonly nonce: number;
  /** Drawn when the catalog is made or rebuilt. A file cache that was filled under another id is not used. */
  readonly catalogId: number;
  /** Ordinals of items with damaged frames: a file cache must not use them. */
  readonly damaged: readonly number[];
  /** The ordinals that were reserved with the upload. */
  readonly ordinals: OrdinalRange;
}

/** The session numbers that the catalog has issued, and the next one. */
export interface SessionNumbers {
  /** Sessions of uploads that have not ended: their packs may be in the store before the catalog knows them. */
  readonly running: readonly number[];
  /** The number that the next session will have. */
  readonly next: number;
  /** Sessions whose claims are open: it is not known yet whether the store has them with our nonce. */
  readonly open: readonly { readonly session: number; readonly nonce: number }[];
  /** Another catalog has used a number of this one: this one must be rebuilt. */
  readonly stale: boolean;
}

/** Packs and all that they hold, registered in one step once the packs are durable. */
export interface UploadUnit {
  readonly packs: readonly PackRow[];
  readonly header: Uint8Array;
  readonly frames: readonly FrameRow[];
  readonly items: readonly Item[];
  /** (hook, ordinal): eight bytes of one of the smallest block ids, and the newest segment of this owner that has it. */
  readonly hooks: readonly (readonly [bigint, number])[];
  /** (earlier, later): consecutive segments. Sets `next` of the earlier one, if it is 0 or both have one owner. */
  readonly follows: readonly (readonly [number, number])[];
}

/** One version of a frame in one pack. Frames move while they are read, so a damage mark is for one version only. */
export interface FrameVersion {
  readonly frame: number;
  readonly pack: string;
  readonly generation: number;
}

/** A frame that a repack or a heal has moved: where it was, where it is now. */
export interface FrameMove {
  readonly from: {
    readonly pack: string;
    readonly generation: number;
    /** The marking that condemned the pack; null if the pack stays as it is. */
    readonly marking: number | null;
  };
  readonly to: FrameRow;
}

/** What `condemn` did with a marking's packs. */
export interface MarkingResult {
  readonly condemned: readonly string[];
  /** True if the revision has changed since the marking: the caller must mark again. */
  readonly revisionChanged: boolean;
}

/** A snapshot without its bitmap, which has up to hundreds of kilobytes. */
export type SnapshotInfo = Omit<SnapshotRow, "reach">;

/** The place of a snapshot in the order of all snapshots: by the time of their completion, then by id. */
export type SnapshotKey = Pick<SnapshotRow, "completedAt" | "id">;

/** A page of snapshots. */
export interface SnapshotQuery {
  /** Only snapshots of this source. */
  readonly source?: string | undefined;
  /** The last snapshot of the page before. */
  readonly after?: SnapshotKey | undefined;
  /** The oldest snapshot comes first if absent. */
  readonly newestFirst?: boolean | undefined;
  /** `maxSnapshotsPerPage` if absent, and at most that. */
  readonly limit?: number | undefined;
}

/** A row has some hundred bytes: a page is less than a megabyte. */
export const maxSnapshotsPerPage = 1000;

/** Damaged frames are returned as numbers, so many at a time. */
export const maxDamagedFramesPerPage = 10_000;

/** A part of what a rebuild has found: packs and items, snapshots, or at the end the next numbers. */
export interface RebuiltCatalog {
  /** What `clear` has returned to this rebuild. Not compared if absent. */
  readonly catalogId?: number | undefined;
  readonly unit?: UploadUnit | undefined;
  readonly snapshots?: readonly SnapshotRow[] | undefined;
  readonly nextOrdinal?: number | undefined;
  readonly nextSession?: number | undefined;
  readonly chainHead?: ChainHead | undefined;
  /** The newest epoch that the chain names. */
  readonly epoch?: number | undefined;
  /** Per writer id the first session number that is refused. */
  readonly revoked?: ReadonlyMap<string, number> | undefined;
}
