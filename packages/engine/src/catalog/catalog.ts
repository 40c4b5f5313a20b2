/**
 * The catalog port: everything that must be found fast. The object store is complete without it (see rebuild); losing it
 * loses nothing but time. One `Catalog` serves one vault. Each method is one atomic step; no method waits for another
 * upload.
 *
 * Nouns
 * - *item*: a segment or a node, addressed by its id and by its *ordinal* (small, unique in the vault, never reused).
 * - *upload*: a session in progress, with a lease. It holds *pins* on packs.
 * - *pack state*: `live` → `condemned` → `deleting`. `condemned → live` when somebody needs it; `deleting` is final.
 *
 * Rules every implementation keeps (`conformance.ts` tests them)
 * 1. An answer "known" (`acquire`, `acquireFrames`) first pins every pack it rests on, in the same step. A condemned pack
 *    comes back to `live` by that; an item with a frame in a deleting pack, or with a damaged frame, is not known.
 * 2. `condemn` succeeds only for a live pack without pins, and only if no snapshot or upload base was added since the
 *    generation that the caller's marking saw.
 * 3. `beginDelete` succeeds only for a condemned pack without pins. Its frames and the given dead items leave with it.
 * 4. `commit` succeeds only while the lease runs, only for a new snapshot id, and only if every item of the snapshot is in the base or rests on packs
 *    that this upload has pinned. It ends the upload and its pins in the same step.
 * 5. What another owner added is known only once it is verified.
 * 6. A session number is given out once, with a nonce that is remembered. One claim found taken makes the catalog stale:
 *    it begins no upload until it was cleared.
 * 7. A recipe that replaces another is pinned for every upload that had pinned what the old one rests on, in the same step.
 * 8. Hooks and neighbours are kept per owner: a unit replaces nobody else's.
 * 9. Changes of a snapshot's retention are applied in the order of their numbers; a deletion that began cannot be held.
 *
 * `addUnit` registers what it is given. What a client says goes through `checkUnit` (backup/unit-gate.ts) first.
 */

import type { EngineContext } from "../context.ts";

export type ItemKind = "segment" | "node";

/** A segment or node. */
export interface Item {
  readonly ordinal: number;
  readonly kind: ItemKind;
  readonly id: Uint8Array;
  readonly recipe: Uint8Array;
  /** The metadata frame that holds its record: for a node the same frame as in its recipe. */
  readonly record: number;
  /** The segment that followed it when its owner last stored it, or 0. */
  readonly next: number;
  readonly owner: string;
  readonly verified: boolean;
}

/** Where a frame is. */
export interface FrameRow {
  readonly frame: number;
  readonly generation: number;
  readonly kind: "data" | "meta";
  readonly pack: string;
  readonly offset: number;
  readonly length: number;
  readonly frameId: Uint8Array;
  /** The sealing session. */
  readonly session: number;
  /** Encoded block list; empty for metadata frames. */
  readonly blockList: Uint8Array;
  /** The metadata frame that holds a copy of the block list; 0 for metadata frames. */
  readonly record: number;
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

export interface Retention {
  readonly expiresAt: number | null;
  readonly lockedUntil: number | null;
  readonly hold: boolean;
}

/**
 * `recovered`: found by rebuild as a manifest without a row; true, but nobody confirmed it. `deleting`: its deletion was
 * decided and cannot be stopped; it still protects its content until the row goes.
 */
export type SnapshotStatus = "completed" | "recovered" | "deleting";

export interface SnapshotRow {
  readonly id: string;
  readonly source: string;
  readonly session: number;
  readonly startedAt: number;
  readonly completedAt: number;
  readonly rootOrdinal: number;
  readonly rootId: Uint8Array;
  readonly size: number;
  readonly files: number;
  readonly warnings: number;
  readonly storedBytes: number;
  readonly status: SnapshotStatus;
  readonly retention: Retention;
  /** The number of the newest change of retention that is in it; 0: as the manifest says. */
  readonly changes: number;
  /** Encoded `Bitmap` of reachable ordinals. */
  readonly reach: Uint8Array;
}

export interface NewUpload {
  readonly upload: string;
  readonly owner: string;
  readonly leaseUntil: number;
  /** A snapshot whose content counts as pinned, or null. */
  readonly base: string | null;
}

export interface UploadStart {
  readonly session: number;
  /** Drawn with the session's number; tells this catalog's session from another's of the same number. */
  readonly nonce: number;
  /** Drawn anew when the catalog is made or rebuilt: what a cache says about another incarnation is void. */
  readonly generation: number;
  /** Ordinals of items that rest on damaged frames: what a cache says about them is void. */
  readonly damaged: readonly number[];
}

/** What the catalog says about the numbers of sessions. */
export interface SessionNumbers {
  /** Sessions of uploads that have not ended: their packs may be in the store before the catalog knows them. */
  readonly live: readonly number[];
  /** The number that the next session will have. */
  readonly next: number;
  /** Numbers given out of which nobody has said yet whether the store has them as ours. */
  readonly open: readonly { readonly session: number; readonly nonce: number }[];
  /** Another catalog has used a number of this one: rebuild. */
  readonly stale: boolean;
}

/** What becomes known together once its packs are durable. */
export interface UploadUnit {
  readonly packs: readonly PackRow[];
  readonly header: Uint8Array;
  readonly frames: readonly FrameRow[];
  readonly items: readonly Item[];
  /** (hook, ordinal): the first eight bytes of a small block id, and the newest segment of this owner that has it. */
  readonly hooks: readonly (readonly [bigint, number])[];
  /** (earlier, later): segments that stood next to each other. What another owner said of `earlier` stays. */
  readonly follows: readonly (readonly [number, number])[];
}

/** One version of a frame. What is said about it says nothing about another: frames move while they are read. */
export interface FrameVersion {
  readonly frame: number;
  readonly pack: string;
  readonly generation: number;
}

/** A frame moved by rewriting or healing: where it was, where it is now. */
export interface FrameMove {
  readonly from: {
    readonly pack: string;
    readonly generation: number;
    /** The marking by which the pack was condemned; null where the pack stays as it is. */
    readonly marking: number | null;
  };
  readonly to: FrameRow;
}

export interface CondemnedPacks {
  readonly condemned: readonly string[];
  /** True when something was committed since the marking: mark again. */
  readonly stale: boolean;
}

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
  /** Gives out a session number with an open claim. Rejects with `stale` once a claim was found taken. */
  beginUpload(upload: NewUpload): Promise<UploadStart>;
  /** Says how an open claim ended. One that is not `ours` makes the catalog stale until `clear`. */
  settleClaim(session: number, ours: boolean): Promise<void>;
  /** Prolongs the lease; rejects with `lease_expired` once it is over. */
  renewUpload(upload: string, now: number, leaseUntil: number): Promise<void>;
  /** Ends an upload without a snapshot. Its pins go; what it registered stays until collected. */
  endUpload(upload: string): Promise<void>;
  /** Ends every upload whose lease is over, and says which. */
  expireUploads(now: number): Promise<readonly string[]>;
  /** Reserves `count` ordinals and returns the first. */
  reserveOrdinals(count: number): Promise<number>;
  acquire(upload: string, ids: readonly Uint8Array[]): Promise<readonly (Item | null)[]>;
  /** Like `acquire`, for frames that single blocks are taken from. */
  acquireFrames(upload: string, frames: readonly number[]): Promise<readonly boolean[]>;
  /** Registers durable packs and what they hold; the packs are pinned by the upload. */
  addUnit(upload: string, now: number, unit: UploadUnit): Promise<void>;
  commit(upload: string, now: number, snapshot: SnapshotRow): Promise<void>;

  /** Per hook the owner's newest segment that has it, or else the newest verified one of anybody. */
  findHooks(owner: string, hooks: readonly bigint[]): Promise<readonly (number | null)[]>;
  itemsByOrdinal(ordinals: readonly number[]): Promise<readonly (Item | null)[]>;
  itemsById(ids: readonly Uint8Array[]): Promise<readonly (Item | null)[]>;
  frames(frames: readonly number[]): Promise<readonly (FrameRow | null)[]>;
  session(session: number): Promise<SessionRow | null>;

  snapshots(): Promise<readonly SnapshotRow[]>;
  /**
   * Applies change `number`, which is in the store already. The next one in order is applied, an earlier one is ignored,
   * a later one rejects with `conflict`, as does any change of a snapshot that is being deleted.
   */
  changeRetention(id: string, retention: Retention, number: number): Promise<void>;
  /** Decides a deletion for good. Rejects with `retained` where a hold or a lock protects the snapshot at `now`. */
  beginDeleteSnapshot(id: string, now: number): Promise<void>;
  /** Removes a snapshot. Rejects with `retained` where a hold or a lock protects it at `now`. */
  deleteSnapshot(id: string, now: number): Promise<void>;

  /** The generation and the bitmaps that marking starts from: snapshots and the bases of live uploads. */
  roots(): Promise<{ readonly generation: number; readonly reach: readonly Uint8Array[] }>;
  allItems(): AsyncIterable<Item>;
  allFrames(): AsyncIterable<FrameRow>;
  packs(): Promise<readonly PackRow[]>;
  sessions(): Promise<SessionNumbers>;
  /** The nonce of a session that this catalog gave out itself; null for any other. */
  givenNonce(session: number): Promise<number | null>;
  /**
   * Condemns packs by a marking (its generation) where nothing was committed since. Packs that are condemned already pass
   * to this marking: whoever died or is still at work with an older one may not act on it any more. A pack that came
   * back to life and was condemned again may hold what the older marking took for dead.
   */
  condemn(packs: readonly string[], marking: number): Promise<CondemnedPacks>;
  /** Refused (false) unless the pack is unpinned and condemned by this very marking. */
  beginDelete(pack: string, marking: number, deadItems: readonly number[]): Promise<boolean>;
  forgetPack(pack: string): Promise<void>;
  /**
   * Puts rewritten frames in place of the old ones, all or none: refused (false) when a frame is no longer where
   * `from` says, or when a pack it leaves is not condemned by that marking (somebody came to need it meanwhile). These packs
   * become `deleting`. Items that rest on dropped slots leave in the same step: nobody may be told that they are known.
   */
  moveFrames(
    upload: string,
    now: number,
    unit: UploadUnit,
    moves: readonly FrameMove[],
    deadItems: readonly number[],
  ): Promise<boolean>;

  /** Marks frames, or takes their marks away. A version that is no longer the frame's is passed over. */
  setDamaged(marks: readonly FrameVersion[], damaged: boolean): Promise<void>;
  damagedFrames(): Promise<readonly number[]>;
  setVerified(ordinals: readonly number[]): Promise<void>;
  /** Removes everything; used by rebuild, which then registers what it found. */
  clear(ctx: EngineContext): Promise<void>;
  /** Registers what rebuild found, without an upload. */
  restore(found: RebuiltCatalog): Promise<void>;
  close(): Promise<void>;
}

/** A part of what rebuild found; called once per part, and once with `next` numbers at the end. */
export interface RebuiltCatalog {
  readonly unit?: UploadUnit | undefined;
  readonly snapshots?: readonly SnapshotRow[] | undefined;
  readonly nextOrdinal?: number | undefined;
  readonly nextSession?: number | undefined;
}
