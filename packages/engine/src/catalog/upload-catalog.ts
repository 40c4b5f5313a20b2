/** The part of the catalog that uploads need: sessions, pins, units, commits (`catalog.ts` has the rules). */

import type {
  Item,
  NewUpload,
  SessionNumbers,
  SnapshotRow,
  UploadScope,
  UploadStart,
  UploadState,
  UploadUnit,
} from "./rows.ts";

export interface UploadCatalog {
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
  /** The items of these ids, pinned for the upload and held by it; null if an item is not known. */
  acquire(upload: string, ids: readonly Uint8Array[]): Promise<readonly (Item | null)[]>;
  /** Like `acquire`, for items that a recovered manifest names. Returns which of them are held now. */
  acquireOrdinals(upload: string, ordinals: readonly number[]): Promise<readonly boolean[]>;
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
   * Registers durable packs and what they hold, and pins the packs for the upload. The upload holds the unit's items.
   * `number` is given for a unit of a client: a number that the upload has registered already changes nothing, and every
   * frame that the unit's items and block lists need must then be pinned by the upload, or the unit is refused with
   * `not_closed`.
   */
  addUnit(upload: string, now: number, unit: UploadUnit, number?: number): Promise<void>;
  /** Adds the snapshot and ends the upload. Rejects with `lease_expired`, `conflict` or `not_closed` (rule 4). */
  commit(upload: string, now: number, snapshot: SnapshotRow): Promise<void>;
  /**
   * Per hook the ordinal of the owner's newest segment with it, or else of the newest verified one, or null. In the scope
   * `lineage` only the owner's.
   */
  findHooks(owner: string, hooks: readonly bigint[], scope?: UploadScope): Promise<readonly (number | null)[]>;
  /** The session numbers of running uploads, and of open claims. */
  sessions(): Promise<SessionNumbers>;
}
