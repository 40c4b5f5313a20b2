/**
 * The catalog interface: the database of what is stored where. Everything in it can be rebuilt from the object store (see
 * upkeep/rebuild.ts); losing it costs time, not data. One `Catalog` serves one vault. Each method is one atomic step. No
 * method waits for another upload.
 *
 * Nouns (docs/GLOSSARY.md has all of them)
 * - *item*: a segment or a tree node. It has an id and an *ordinal* (small, unique in the vault, never used again).
 * - *upload*: a session in progress, with a lease. It *pins* the packs that it needs.
 * - *pack state*: `live` → `condemned` → `deleting`. A pin makes a condemned pack live again; `deleting` is final.
 * - *revision*: a count of all changes that matter to marking. A *marking* is named by the revision that it saw.
 *
 * Rules of every implementation (`conformance.test.ts` tests them)
 * 1. `acquire` and `acquireFrames` pin every pack that a known item or frame needs, in the same step. A condemned pack
 *    becomes live by this. An item is not known if one of its frames is damaged or in a deleting pack.
 * 2. `condemn` succeeds only for a pack without pins, and only if the revision is still that of the caller's marking.
 * 3. `beginDelete` succeeds only for a condemned pack without pins. It removes the pack's frames and the given dead items.
 * 4. `commit` succeeds only before the lease ends, only for a new snapshot id, and only if every item of the snapshot is in
 *    the base or needs only packs that this upload has pinned. It ends the upload and its pins in the same step.
 * 5. An item of another owner is known only if it is verified, and never in the scope `lineage`. Of several items with
 *    one id a verified one is taken. A snapshot of the scope `lineage` reaches items of its owner only.
 * 6. A session number is issued once, with a nonce that is kept. A claim that another catalog has taken makes the
 *    catalog stale: it begins no upload until it is cleared.
 * 7. If a recipe replaces another, every upload that has pinned the packs of the old recipe pins those of the new one, in
 *    the same step.
 * 8. Hooks and the order of segments (`next`, `follows`) are kept per owner: a unit replaces only those of its owner.
 * 9. Changes of a snapshot's retention are applied in the order of the chain. A snapshot that is being deleted takes no
 *    change.
 * 10. The head of the chain never goes back.
 * 11. A client may repeat a step whose answer was lost: `beginUpload`, a reservation of ordinals with its request, and
 *    `addUnit` with its number answer the same and change nothing the second time.
 *
 * `addUnit` registers what it is given. A unit of a client is checked by `checkUnit` (backup/check-unit.ts) first.
 */

import type { EngineContext } from "../context.ts";
import type { ChainHead } from "../format/chain.ts";
import type { FrameKind } from "../format/frame.ts";
import type { Retention, SnapshotRow } from "../format/snapshot.ts";

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

/** Where a frame is. */
export interface FrameRow {
  readonly frame: number;
  readonly generation: number;
  readonly kind: FrameKind;
  readonly pack: string;
  readonly offset: number;
  readonly length: number;
  readonly frameId: Uint8Array;
  /** The sealing session. */
  readonly session: number;
  /** Encoded block list; empty for metadata frames. */
  readonly blockList: Uint8Array;
  /** The metadata frame that holds a copy of the block list; 0 for metadata frames. */
  readonly recordFrame: number;
  readonly damaged: boolean;
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
 * What an upload is told. `vault`: items of its owner, and verified items of others. `lineage`: items of its owner only, so
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

/** `not_closed`: the snapshot reaches an item that is neither in the base nor pinned (rule 4). */
export type CatalogErrorCode =
  | "lease_expired"
  | "unknown_upload"
  | "not_closed"
  | "unknown_snapshot"
  | "retained"
  | "stale"
  | "conflict";

export class CatalogError extends Error {
  override readonly name = "CatalogError";
  readonly code: CatalogErrorCode;

  constructor(code: CatalogErrorCode, message: string) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}

/** The catalog of one vault. */
export interface Catalog {
  /**
   * Issues a session number with an open claim. Rejects with `stale` if the catalog is stale. Repeated for a running upload
   * it answers the same; it rejects with `conflict` if the upload is of another owner.
   */
  beginUpload(upload: NewUpload): Promise<UploadStart>;
  /** A running upload; null if there is none of that name. */
  uploadState(upload: string): Promise<UploadState | null>;
  /** Closes an open claim. A claim that is not `ours` makes the catalog stale until `clear`. */
  settleClaim(session: number, ours: boolean): Promise<void>;
  /** Extends the lease. Rejects with `lease_expired` if it has ended. */
  renewUpload(upload: string, now: number, leaseUntil: number): Promise<void>;
  /** Ends an upload without a snapshot and removes its pins. Its units stay until they are pruned. */
  endUpload(upload: string): Promise<void>;
  /** Ends every upload whose lease has ended. Returns these uploads. */
  expireUploads(now: number): Promise<readonly string[]>;
  /**
   * Reserves `count` ordinals and returns the first. With `by` they belong to that upload, and the same request of the
   * upload gets the same ordinals again.
   */
  reserveOrdinals(count: number, by?: { readonly upload: string; readonly request: number }): Promise<number>;
  /** The items of these ids, pinned for the upload; null if an item is not known. */
  acquire(upload: string, ids: readonly Uint8Array[]): Promise<readonly (Item | null)[]>;
  /**
   * Like `acquire`, for frames of which an upload uses single blocks. With `generations`, a frame that has another generation
   * is not known: slots may have been dropped since its block list was read.
   */
  acquireFrames(
    upload: string,
    frames: readonly number[],
    generations?: readonly number[],
  ): Promise<readonly boolean[]>;
  /**
   * Registers durable packs and what they hold, and pins the packs for the upload. `number` is given for a unit of a
   * client: a number that the upload has registered already changes nothing, and every frame that the unit's items and
   * block lists need must then be pinned by the upload, or the unit is refused with `not_closed`.
   */
  addUnit(upload: string, now: number, unit: UploadUnit, number?: number): Promise<void>;
  /** Adds the snapshot and ends the upload. Rejects with `lease_expired`, `conflict` or `not_closed` (rule 4). */
  commit(upload: string, now: number, snapshot: SnapshotRow): Promise<void>;

  /**
   * Per hook the ordinal of the owner's newest segment with it, or else of the newest verified one, or null. In the scope
   * `lineage` only the owner's.
   */
  findHooks(owner: string, hooks: readonly bigint[], scope?: UploadScope): Promise<readonly (number | null)[]>;
  itemsByOrdinal(ordinals: readonly number[]): Promise<readonly (Item | null)[]>;
  itemsById(ids: readonly Uint8Array[]): Promise<readonly (Item | null)[]>;
  frames(frames: readonly number[]): Promise<readonly (FrameRow | null)[]>;
  session(session: number): Promise<SessionRow | null>;

  snapshots(): Promise<readonly SnapshotRow[]>;
  /**
   * Applies the chain's record `sequence`. A record that is not newer than the newest one applied to the snapshot is
   * ignored. Rejects with `conflict` where the snapshot is being deleted.
   */
  changeRetention(id: string, retention: Retention, sequence: number): Promise<void>;
  /** The newest record of the vault's chain that was applied. */
  chainHead(): Promise<ChainHead>;
  /** Sets the head, unless it is there or beyond already. `epoch` is what a record of a new epoch names. */
  advanceChain(head: ChainHead, epoch?: number): Promise<void>;
  /** The newest epoch that an applied record names; 1 if none does. */
  newestEpoch(): Promise<number>;
  /** Sessions of the writer from this number on are refused. A revocation is never moved to a later session. */
  revokeWriter(writerId: string, fromSession: number): Promise<void>;
  /** The first session number of the writer that is refused; null if the writer is not revoked. */
  revokedFrom(writerId: string): Promise<number | null>;
  /** Sets the status `deleting`. Rejects with `retained` if the snapshot is held, or locked at `now`. */
  beginDeleteSnapshot(id: string, now: number): Promise<void>;
  /**
   * Sets a row that is `deleting` back to `completed`, with the retention of the chain's record `sequence`: a hold or a lock
   * that the chain got before the deletion. Returns false if the row is not `deleting`, or if the record is not newer
   * than the newest one applied to it.
   */
  cancelDeleteSnapshot(id: string, retention: Retention, sequence: number): Promise<boolean>;
  /** Removes a snapshot's row. Rejects with `retained` if it is held, or locked at `now`. */
  deleteSnapshot(id: string, now: number): Promise<void>;

  /** What a marking starts from: the revision, and the bitmaps of all snapshots and of the bases of running uploads. */
  roots(): Promise<{ readonly revision: number; readonly reach: readonly Uint8Array[] }>;
  allItems(): AsyncIterable<Item>;
  allFrames(): AsyncIterable<FrameRow>;
  packs(): Promise<readonly PackRow[]>;
  sessions(): Promise<SessionNumbers>;
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
   * if a pack that it leaves is not condemned by that marking any more. The packs that were left become `deleting`. Items
   * that need dropped slots are removed in the same step, so that no upload gets them as known.
   */
  moveFrames(
    upload: string,
    now: number,
    unit: UploadUnit,
    moves: readonly FrameMove[],
    deadItems: readonly number[],
  ): Promise<boolean>;

  /** Sets or clears damage marks. A version that the catalog no longer has is ignored. */
  setDamaged(versions: readonly FrameVersion[], damaged: boolean): Promise<void>;
  damagedFrames(): Promise<readonly number[]>;
  setVerified(ordinals: readonly number[]): Promise<void>;
  /** Removes everything and draws a new catalog id. The first step of a rebuild. */
  clear(ctx: EngineContext): Promise<void>;
  /** Registers what a rebuild has found, without an upload. */
  addRebuilt(found: RebuiltCatalog): Promise<void>;
  close(): Promise<void>;
}

/** A part of what a rebuild has found: packs and items, snapshots, or at the end the next numbers. */
export interface RebuiltCatalog {
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
