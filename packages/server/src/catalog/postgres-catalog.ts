/**
 * The catalog of one vault on PostgreSQL. `packages/engine/src/catalog/catalog.ts` has the rules. Each method that changes
 * something is one transaction under the lock of the vault (vault-store.ts), and a few statements whatever its size: rows
 * travel as arrays. Some take several transactions, so that no other step waits for the whole of them: `condemn` of many
 * packs, each part by the same rules; `setDamaged` and a search that it left unfinished (damage-store.ts); `commit` where
 * owners must be compared (commit-store.ts).
 *
 * Several processes use the catalog of a vault at the same time. An instance keeps nothing but the vault's number.
 */

import type {
  Catalog,
  ChainHead,
  EngineContext,
  FrameMove,
  FramePlace,
  FrameRow,
  FrameVersion,
  Item,
  MarkingResult,
  NewUpload,
  PackRow,
  RebuiltCatalog,
  Retention,
  ScannedFrame,
  SessionNumbers,
  SessionRow,
  SnapshotInfo,
  SnapshotQuery,
  SnapshotRow,
  UploadScope,
  UploadStart,
  UploadState,
  UploadUnit,
} from "@emanet/engine/catalog";
import { assertSameRebuild, Bitmap, CatalogError, drawNumber } from "@emanet/engine/catalog";
import { acquireFrames, acquireItems, acquireOrdinals } from "./acquire-store.ts";
import { assertOwner, commitUpload } from "./commit-store.ts";
import { markFrames, searchDamagedItems } from "./damage-store.ts";
import type { CatalogListeners } from "./listeners.ts";
import * as lookups from "./lookup-store.ts";
import * as removal from "./removal-store.ts";
import * as scans from "./scan-store.ts";
import * as snapshots from "./snapshot-store.ts";
import {
  addUnitNumber,
  assertUnitIsPinned,
  isReplacing,
  pinUnit,
  registerNew,
  registerReplacing,
  setVerified,
} from "./unit-store.ts";
import {
  addHeld,
  BegunMeanwhile,
  beginUpload,
  type Ending,
  endUploads,
  knownUpload,
  leasedUpload,
  type RunningUpload,
  renewUpload,
  reserve,
  settleClaim,
} from "./upload-store.ts";
import { raiseRevision, VaultDatabase, type VaultLock, type VaultOfAccount, type VaultTx } from "./vault-store.ts";

/** A step of pins and leases: a power cut may undo it. */
const light = { durable: false };

/** Emptying a vault of ten million items deletes fifty million rows in one step. */
const clearTimeoutMs = 3_600_000;

/** Packs condemned under one exclusive lock: some ten milliseconds, in which uploads wait. */
const packsPerStep = 500;

/** Attempts to begin an upload that others begin at the same moment. The second attempt finds it, unless it ended again. */
const maxBegins = 10;

export class PostgresCatalog implements Catalog {
  readonly #database: VaultDatabase;
  readonly #ctx: EngineContext;
  readonly #listeners: CatalogListeners;

  constructor(of: VaultOfAccount, ctx: EngineContext, listeners: CatalogListeners) {
    this.#database = new VaultDatabase(of);
    this.#ctx = ctx;
    this.#listeners = listeners;
  }

  async beginUpload(begun: NewUpload): Promise<UploadStart> {
    for (let attempt = 0; attempt < maxBegins; attempt++) {
      try {
        const start = await this.#write("shared", (to) => beginUpload(to, begun, drawNumber(this.#ctx)));
        if (start !== "search_damage") return start;
        await searchDamagedItems(this.#database);
      } catch (error) {
        if (!(error instanceof BegunMeanwhile)) throw error;
      }
    }
    throw new CatalogError("conflict", `upload ${begun.upload} begins and ends at the same moment`);
  }

  async uploadState(upload: string): Promise<UploadState | null> {
    return lookups.readUploadState(this.#database, upload);
  }

  async settleClaim(session: number, ours: boolean): Promise<void> {
    await this.#write("shared", async (to) => settleClaim(to, session, ours));
  }

  async renewUpload(upload: string, now: number, leaseUntil: number): Promise<void> {
    await this.#database.write("shared", (to) => renewUpload(to, upload, now, leaseUntil), light);
  }

  async endUpload(upload: string): Promise<void> {
    await this.#write("shared", (to) => this.#end(to, { upload }, "ended"));
  }

  async expireUploads(now: number): Promise<readonly string[]> {
    // Every upload asks for this when it begins, and there is hardly ever one.
    if (!(await lookups.hasExpired(this.#database, now))) return [];
    return this.#write("shared", (to) => this.#end(to, { leaseUntil: now }, "expired"));
  }

  async reserveOrdinals(count: number, by?: { upload: string; request: number }): Promise<number> {
    if (count === 0 && by === undefined) return lookups.readNextOrdinal(this.#database);
    const { first } = await this.#write("shared", async (to) => {
      if (by === undefined) return reserve(to, count, null);
      const { session } = await knownUpload(to, by.upload);
      return reserve(to, count, { session, request: by.request });
    });
    return first;
  }

  async acquire(upload: string, ids: readonly Uint8Array[]): Promise<readonly (Item | null)[]> {
    return this.#database.write("shared", (to) => acquireItems(to, upload, ids), light);
  }

  async acquireOrdinals(upload: string, ordinals: readonly number[]): Promise<readonly boolean[]> {
    return this.#database.write("shared", (to) => acquireOrdinals(to, upload, ordinals), light);
  }

  async acquireFrames(
    upload: string,
    frames: readonly number[],
    generations?: readonly number[],
  ): Promise<readonly boolean[]> {
    return this.#database.write("shared", (to) => acquireFrames(to, upload, frames, generations), light);
  }

  async addUnit(upload: string, now: number, unit: UploadUnit, number?: number): Promise<void> {
    const isAdded = await this.#write("shared", async (to) => {
      const [running, isNew] = await Promise.all([
        leasedUpload(to, upload, now),
        number === undefined ? isReplacing(to, unit).then((is) => !is) : addUnitNumber(to, upload, number),
      ]);
      // A client's unit that is registered already, or one that replaces rows: nothing has changed yet.
      if (!isNew) return number !== undefined;
      await registerNew(to, unit, running);
      if (number !== undefined) await assertUnitIsPinned(to, running.session, unit);
      await this.#added(to, upload, running, unit);
      return true;
    });
    if (isAdded) return;
    await this.#write("exclusive", async (to) => {
      const running = await leasedUpload(to, upload, now);
      await registerReplacing(to, unit);
      await this.#added(to, upload, running, unit);
    });
  }

  async commit(upload: string, now: number, snapshot: SnapshotRow): Promise<void> {
    const commit = { upload, now, snapshot, reached: Bitmap.decode(snapshot.reach), compared: new Bitmap() };
    for (;;) {
      const unknown = await this.#write("shared", async (to) => {
        const items = await commitUpload(to, commit);
        if (items === null) await this.#committed(to, upload, snapshot);
        return items;
      });
      if (unknown === null) return;
      await assertOwner(this.#database, unknown);
      commit.compared.or(unknown.items);
    }
  }

  async findHooks(
    owner: string,
    hooks: readonly bigint[],
    scope: UploadScope = "vault",
  ): Promise<readonly (number | null)[]> {
    return lookups.findHooks(this.#database, owner, hooks, scope);
  }

  async itemsByOrdinal(ordinals: readonly number[]): Promise<readonly (Item | null)[]> {
    return lookups.readItems(this.#database, ordinals);
  }

  async frames(frames: readonly number[]): Promise<readonly (FrameRow | null)[]> {
    return lookups.readFrames(this.#database, frames);
  }

  async framePlaces(frames: readonly number[]): Promise<readonly (FramePlace | null)[]> {
    return lookups.readPlaces(this.#database, frames);
  }

  async session(session: number): Promise<SessionRow | null> {
    return lookups.readSession(this.#database, session);
  }

  async snapshot(id: string): Promise<SnapshotRow | null> {
    return snapshots.readSnapshot(this.#database, id);
  }

  async snapshotPage(query: SnapshotQuery = {}): Promise<readonly SnapshotInfo[]> {
    return snapshots.readSnapshotPage(this.#database, query);
  }

  async changeRetention(id: string, retention: Retention, sequence: number): Promise<void> {
    await this.#write("shared", (to) => snapshots.changeRetention(to, id, retention, sequence));
  }

  async chainHead(): Promise<ChainHead> {
    return (await snapshots.readChain(this.#database)).head;
  }

  async advanceChain(head: ChainHead, epoch?: number): Promise<void> {
    await this.#write("shared", async (to) => snapshots.advanceChain(to, head, epoch));
  }

  async newestEpoch(): Promise<number> {
    return (await snapshots.readChain(this.#database)).epoch;
  }

  async revokeWriter(writerId: string, fromSession: number): Promise<void> {
    await this.#write("shared", (to) => snapshots.revokeWriters(to, new Map([[writerId, fromSession]])));
  }

  async revokedFrom(writerId: string): Promise<number | null> {
    return lookups.readRevocation(this.#database, writerId);
  }

  async beginDeleteSnapshot(id: string, now: number): Promise<void> {
    await this.#write("shared", (to) => snapshots.beginDeleteSnapshot(to, id, now));
  }

  async cancelDeleteSnapshot(id: string, retention: Retention, sequence: number): Promise<boolean> {
    return this.#write("shared", (to) => snapshots.cancelDeleteSnapshot(to, id, retention, sequence));
  }

  async deleteSnapshot(id: string, now: number): Promise<void> {
    await this.#write("shared", async (to) => {
      await snapshots.deleteSnapshot(to, id, now);
      raiseRevision(to);
    });
  }

  async revision(): Promise<number> {
    return lookups.readRevision(this.#database);
  }

  allReach(): AsyncIterable<Uint8Array> {
    return snapshots.readBitmaps(this.#database);
  }

  allItems(): AsyncIterable<Item> {
    return scans.allItems(this.#database);
  }

  allFrames(): AsyncIterable<ScannedFrame> {
    return scans.allFrames(this.#database);
  }

  allPacks(): AsyncIterable<PackRow> {
    return scans.allPacks(this.#database);
  }

  async packs(packs: readonly string[]): Promise<readonly (PackRow | null)[]> {
    return lookups.readPacks(this.#database, packs);
  }

  async sessions(): Promise<SessionNumbers> {
    return lookups.readSessionNumbers(this.#database);
  }

  async issuedNonce(session: number): Promise<number | null> {
    return lookups.readNonce(this.#database, session);
  }

  async condemn(packs: readonly string[], marking: number): Promise<MarkingResult> {
    const condemned: string[] = [];
    for (let at = 0; ; at += packsPerStep) {
      const some = packs.slice(at, at + packsPerStep);
      const result = await this.#write("exclusive", (to) => removal.condemn(to, some, marking));
      condemned.push(...result.condemned);
      const isLast = at + packsPerStep >= packs.length;
      if (isLast || result.revisionChanged) return { condemned, revisionChanged: result.revisionChanged };
    }
  }

  async beginDelete(pack: string, marking: number, deadItems: readonly number[]): Promise<boolean> {
    return this.#write("exclusive", (to) => removal.beginDelete(to, pack, marking, deadItems));
  }

  async forgetPack(pack: string): Promise<void> {
    await this.#write("shared", async (to) => {
      const storedBytes = await removal.forgetPack(to, pack);
      if (storedBytes === null) return;
      await this.#listeners.packDeleted?.(to.tx, { vaultId: this.#database.vaultId, storedBytes });
    });
  }

  async moveFrames(
    upload: string,
    now: number,
    unit: UploadUnit,
    moves: readonly FrameMove[],
    deadItems: readonly number[],
  ): Promise<boolean> {
    return this.#write("exclusive", async (to) => {
      await leasedUpload(to, upload, now);
      const moved = await removal.moveFrames(to, { unit, moves, deadItems });
      if (!moved) return false;
      raiseRevision(to);
      await this.#tellAdded(to, upload, unit);
      return true;
    });
  }

  async setDamaged(versions: readonly FrameVersion[], damaged: boolean): Promise<void> {
    const isNew = await this.#write("exclusive", async (to) => {
      raiseRevision(to);
      return markFrames(to, versions, damaged);
    });
    if (isNew) await searchDamagedItems(this.#database);
  }

  async damagedFrames(after = 0): Promise<readonly number[]> {
    return lookups.readDamagedFrames(this.#database, after);
  }

  async setVerified(ordinals: readonly number[]): Promise<void> {
    await this.#write("shared", (to) => setVerified(to, ordinals));
  }

  async clear(ctx: EngineContext): Promise<number> {
    const catalogId = drawNumber(ctx);
    const clear = async (to: VaultTx) => {
      await this.#end(to, "all", "ended");
      await scans.clearVault(to, catalogId);
    };
    await this.#database.write("exclusive", clear, { timeoutMs: clearTimeoutMs });
    return catalogId;
  }

  async addRebuilt(found: RebuiltCatalog): Promise<void> {
    const { unit, nextOrdinal = 0, nextSession = 0, chainHead, epoch, revoked } = found;
    await this.#write("exclusive", async (to) => {
      assertSameRebuild(found, await scans.readCatalogId(to));
      if (unit !== undefined) await registerReplacing(to, unit);
      if (chainHead !== undefined) snapshots.advanceChain(to, chainHead, epoch);
      await snapshots.revokeWriters(to, revoked ?? new Map());
      await snapshots.insertSnapshots(to, found.snapshots ?? [], "replace");
      scans.raiseNumbers(to, { nextOrdinal, nextSession });
      raiseRevision(to);
    });
  }

  /** The connections belong to the service. */
  async close(): Promise<void> {}

  #write<T>(lock: VaultLock, work: (to: VaultTx) => Promise<T>): Promise<T> {
    return this.#database.write(lock, work);
  }

  async #end(to: VaultTx, which: Ending, reason: "ended" | "expired"): Promise<string[]> {
    const uploads = await endUploads(to, which);
    if (uploads.length > 0) await this.#listeners.ended?.(to.tx, { vaultId: this.#database.vaultId, uploads, reason });
    return uploads;
  }

  async #added(to: VaultTx, upload: string, running: RunningUpload, unit: UploadUnit): Promise<void> {
    const { session, owner_name } = running;
    pinUnit(to, session, unit);
    addHeld(
      to,
      session,
      unit.items.map(({ ordinal, owner }) => ({ ordinal, isOwn: owner === owner_name })),
    );
    await this.#tellAdded(to, upload, unit);
  }

  async #committed(to: VaultTx, upload: string, snapshot: SnapshotRow): Promise<void> {
    // Several listeners ask about the same snapshot.
    const answers = new Map<string, Promise<boolean>>();
    await this.#listeners.committed?.(to.tx, {
      ...{ vaultId: this.#database.vaultId, upload, snapshot },
      hasContentOf: (id) => answers.getOrInsertComputed(id, () => snapshots.hasSameContent(to, snapshot.id, id)),
    });
  }

  async #tellAdded(to: VaultTx, upload: string, unit: UploadUnit): Promise<void> {
    const storedBytes = unit.packs.reduce((sum, { size }) => sum + size, 0);
    await this.#listeners.unitAdded?.(to.tx, { vaultId: this.#database.vaultId, upload, storedBytes });
  }
}
