/**
 * The catalog in memory, for tests and simulations. `catalog.ts` has the rules. Every method runs to its end without
 * yielding, so each is one atomic step.
 *
 * The simulation must notice a catalog that breaks a rule. Its broken catalogs (testing/broken-catalogs.ts) override the
 * protected methods.
 */

import type { EngineContext } from "../context.ts";
import { Bitmap } from "../format/bitmap.ts";
import { hex } from "../format/bytes.ts";
import type { ChainHead } from "../format/chain.ts";
import type {
  Catalog,
  FrameMove,
  FramePlace,
  FrameRow,
  FrameVersion,
  Item,
  MarkingResult,
  NewUpload,
  OrdinalRange,
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
} from "./catalog.ts";
import { CatalogError, maxDamagedFramesPerPage } from "./catalog.ts";
import { MemoryHooks } from "./memory-hooks.ts";
import { MemoryPacks } from "./memory-packs.ts";
import { MemorySnapshots } from "./memory-snapshots.ts";
import { MemoryUploads } from "./memory-uploads.ts";
import {
  assertHeld,
  assertNewRows,
  assertSameRebuild,
  assertSlotsExist,
  drawNumber,
  framesNeededBy,
  framesOfUnit,
  isKnownTo,
  itemFrames,
  placeOf,
  slotCountOf,
  verifiedFirst,
} from "./rules.ts";

export class MemoryCatalog implements Catalog {
  readonly #items = new Map<number, Item>();
  readonly #byId = new Map<string, Set<number>>();
  readonly #frames = new Map<number, FrameRow>();
  readonly #packs = new MemoryPacks();
  readonly #hooks = new MemoryHooks();
  readonly #sessions = new Map<number, SessionRow>();
  readonly #uploads = new MemoryUploads();
  readonly #snapshots = new MemorySnapshots();
  readonly #claims = new Map<number, { readonly nonce: number; open: boolean }>();
  readonly #ctx: EngineContext;
  #stale = false;
  #revision = 1;
  #catalogId: number;
  #nextOrdinal = 1;
  #nextSession = 1;

  constructor(ctx: EngineContext) {
    this.#ctx = ctx;
    this.#catalogId = drawNumber(ctx);
  }

  async beginUpload(begun: NewUpload): Promise<UploadStart> {
    if (this.#stale) throw new CatalogError("stale", "another catalog has used its numbers");
    const { upload, base, ordinals = 0 } = begun;
    const { session, nonce } = this.#uploads.begin(begun, () => {
      const reach = base === null ? new Uint8Array(0) : this.#snapshots.get(base).reach;
      const drawn = { session: this.#nextSession++, nonce: drawNumber(this.#ctx) };
      this.#claims.set(drawn.session, { nonce: drawn.nonce, open: true });
      return { ...drawn, reach };
    });
    const damaged = [...this.#items.values()].filter((item) =>
      itemFrames(item).some((frame) => this.#frames.get(frame)?.damaged),
    );
    return {
      session,
      nonce,
      catalogId: this.#catalogId,
      damaged: damaged.map(({ ordinal }) => ordinal),
      ordinals: this.#reserve(ordinals, { upload, request: 0 }),
    };
  }

  async uploadState(upload: string): Promise<UploadState | null> {
    return this.#uploads.state(upload);
  }

  async settleClaim(session: number, ours: boolean): Promise<void> {
    const claim = this.#claims.get(session);
    if (claim !== undefined) claim.open = false;
    if (!ours) this.#stale = true;
  }

  async renewUpload(upload: string, now: number, leaseUntil: number): Promise<void> {
    this.#uploads.running(upload, now).leaseUntil = leaseUntil;
  }

  async endUpload(upload: string): Promise<void> {
    this.#end(upload);
  }

  async expireUploads(now: number): Promise<readonly string[]> {
    const ended = this.#uploads.expired(now);
    for (const upload of ended) this.#end(upload);
    return ended;
  }

  async reserveOrdinals(count: number, by?: { upload: string; request: number }): Promise<number> {
    return this.#reserve(count, by).first;
  }

  async acquire(upload: string, ids: readonly Uint8Array[]): Promise<readonly (Item | null)[]> {
    const { owner, scope } = this.#uploads.get(upload);
    return ids.map((id) => {
      const found = [...(this.#byId.get(hex(id)) ?? [])].map((ordinal) => this.#items.get(ordinal));
      const candidates = found.filter((item) => item !== undefined).filter((item) => isKnownTo(owner, scope, item));
      return candidates.sort(verifiedFirst).find((item) => this.#hold(upload, item)) ?? null;
    });
  }

  async acquireOrdinals(upload: string, ordinals: readonly number[]): Promise<readonly boolean[]> {
    this.#uploads.get(upload);
    return ordinals.map((ordinal) => {
      const item = this.#items.get(ordinal);
      return item !== undefined && this.#hold(upload, item);
    });
  }

  async acquireFrames(
    upload: string,
    frames: readonly number[],
    generations?: readonly number[],
  ): Promise<readonly boolean[]> {
    this.#uploads.get(upload);
    const isExpected = (frame: number, i: number) =>
      generations === undefined || this.#frames.get(frame)?.generation === generations[i];
    return frames.map((frame, i) => isExpected(frame, i) && this.#pinFrames(upload, [frame]));
  }

  async addUnit(upload: string, now: number, unit: UploadUnit, number?: number): Promise<void> {
    const running = this.#uploads.running(upload, now);
    if (number !== undefined) {
      if (running.units.has(number)) return;
      const own = new Map(unit.frames.map((row) => [row.frame, row]));
      for (const frame of framesOfUnit(unit))
        if (!own.has(frame) && !this.isPinned(frame, upload))
          throw new CatalogError("not_closed", `frame ${frame} is neither in the unit nor pinned`);
      assertNewRows(unit, { frame: (frame) => this.#frames.has(frame), item: (ordinal) => this.#items.has(ordinal) });
      assertSlotsExist(unit, (frame) => own.get(frame) ?? this.#frames.get(frame) ?? null);
    }
    this.#register(unit);
    for (const { pack } of unit.packs) this.#packs.pin(pack, upload);
    for (const { ordinal } of unit.items) running.held.add(ordinal);
    if (number !== undefined) running.units.add(number);
  }

  async commit(upload: string, now: number, snapshot: SnapshotRow): Promise<void> {
    const { reach, scope, owner, held } = this.#uploads.running(upload, now);
    if (this.#snapshots.has(snapshot.id)) throw new CatalogError("conflict", `snapshot ${snapshot.id} exists`);
    assertHeld(Bitmap.decode(snapshot.reach), Bitmap.decode(reach), held);
    if (scope === "lineage")
      for (const ordinal of Bitmap.decode(snapshot.reach))
        if (this.#items.get(ordinal)?.owner !== owner)
          throw new CatalogError("not_closed", `item ${ordinal} is of another owner`);
    this.#snapshots.put(snapshot);
    this.#end(upload);
    this.#revision++;
  }

  async findHooks(
    owner: string,
    hooks: readonly bigint[],
    scope: UploadScope = "vault",
  ): Promise<readonly (number | null)[]> {
    return hooks.map((hook) => this.#hooks.find(owner, hook, scope, this.#items));
  }

  async itemsByOrdinal(ordinals: readonly number[]): Promise<readonly (Item | null)[]> {
    return ordinals.map((ordinal) => this.#items.get(ordinal) ?? null);
  }

  async frames(frames: readonly number[]): Promise<readonly (FrameRow | null)[]> {
    return frames.map((frame) => this.#frames.get(frame) ?? null);
  }

  async framePlaces(frames: readonly number[]): Promise<readonly (FramePlace | null)[]> {
    return frames.map((frame) => {
      const row = this.#frames.get(frame);
      return row === undefined ? null : placeOf(row);
    });
  }

  async session(session: number): Promise<SessionRow | null> {
    return this.#sessions.get(session) ?? null;
  }

  async snapshot(id: string): Promise<SnapshotRow | null> {
    return this.#snapshots.has(id) ? this.#snapshots.get(id) : null;
  }

  async snapshotPage(query: SnapshotQuery = {}): Promise<readonly SnapshotInfo[]> {
    return this.#snapshots.page(query);
  }

  async changeRetention(id: string, retention: Retention, sequence: number): Promise<void> {
    this.#snapshots.changeRetention(id, retention, sequence);
  }

  async chainHead(): Promise<ChainHead> {
    return this.#snapshots.head;
  }

  async advanceChain(head: ChainHead, epoch = 1): Promise<void> {
    this.#snapshots.advanceChain(head, epoch);
  }

  async newestEpoch(): Promise<number> {
    return this.#snapshots.epoch;
  }

  async revokeWriter(writerId: string, fromSession: number): Promise<void> {
    this.#snapshots.revokeWriter(writerId, fromSession);
  }

  async revokedFrom(writerId: string): Promise<number | null> {
    return this.#snapshots.revokedFrom(writerId);
  }

  async beginDeleteSnapshot(id: string, now: number): Promise<void> {
    this.#snapshots.beginDelete(id, now);
  }

  async cancelDeleteSnapshot(id: string, retention: Retention, sequence: number): Promise<boolean> {
    return this.#snapshots.cancelDelete(id, retention, sequence);
  }

  async deleteSnapshot(id: string, now: number): Promise<void> {
    this.#snapshots.delete(id, now);
    this.#revision++;
  }

  async revision(): Promise<number> {
    return this.#revision;
  }

  async *allReach(): AsyncIterable<Uint8Array> {
    for (const { reach } of [...this.#snapshots.all(), ...this.#uploads.all()]) yield reach;
  }

  async *allItems(): AsyncIterable<Item> {
    yield* [...this.#items.values()].sort((a, b) => a.ordinal - b.ordinal);
  }

  async *allFrames(): AsyncIterable<ScannedFrame> {
    for (const row of [...this.#frames.values()].sort((a, b) => a.frame - b.frame))
      yield { ...placeOf(row), slotCount: slotCountOf(row.blockList) };
  }

  async *allPacks(): AsyncIterable<PackRow> {
    yield* this.#packs.all();
  }

  async packs(packs: readonly string[]): Promise<readonly (PackRow | null)[]> {
    return packs.map((pack) => this.#packs.get(pack));
  }

  async sessions(): Promise<SessionNumbers> {
    const open = [...this.#claims].filter(([, claim]) => claim.open);
    return {
      running: this.#uploads.all().map(({ session }) => session),
      next: this.#nextSession,
      open: open.map(([session, { nonce }]) => ({ session, nonce })),
      stale: this.#stale,
    };
  }

  async issuedNonce(session: number): Promise<number | null> {
    return this.#claims.get(session)?.nonce ?? null;
  }

  async condemn(packs: readonly string[], marking: number): Promise<MarkingResult> {
    if (!this.isCurrent(marking)) return { condemned: [], revisionChanged: true };
    return { condemned: this.#packs.condemn(packs, marking), revisionChanged: false };
  }

  async beginDelete(pack: string, marking: number, deadItems: readonly number[]): Promise<boolean> {
    if (!this.#packs.isCondemned(pack, marking)) return false;
    this.#toDeleting(pack);
    for (const ordinal of deadItems) this.#forget(ordinal);
    return true;
  }

  async forgetPack(pack: string): Promise<void> {
    this.#packs.forget(pack);
  }

  async moveFrames(
    upload: string,
    now: number,
    unit: UploadUnit,
    moves: readonly FrameMove[],
    deadItems: readonly number[],
  ): Promise<boolean> {
    this.#uploads.running(upload, now);
    const left = new Set<string>();
    for (const { from, to } of moves) {
      const row = this.#frames.get(to.frame);
      if (row?.pack !== from.pack || row.generation !== from.generation) return false;
      if (from.marking === null) continue;
      if (!this.#packs.isCondemned(from.pack, from.marking)) return false;
      left.add(from.pack);
    }
    this.#register(unit);
    for (const { from, to } of moves) {
      this.#frames.set(to.frame, to);
      // An upload that uses the frame needs the packs where it and its block list are now.
      const packs = this.#packsOf([to.frame]);
      for (const pinning of this.#packs.uploadsPinning(from.pack)) this.pinKnown(packs, pinning);
    }
    for (const ordinal of deadItems) this.#forget(ordinal);
    for (const pack of left) this.#toDeleting(pack);
    this.#revision++;
    return true;
  }

  async setDamaged(versions: readonly FrameVersion[], damaged: boolean): Promise<void> {
    for (const { frame, pack, generation } of versions) {
      const row = this.#frames.get(frame);
      if (row?.pack === pack && row.generation === generation) this.#frames.set(frame, { ...row, damaged });
    }
    this.#revision++;
  }

  async damagedFrames(after = 0): Promise<readonly number[]> {
    const damaged = [...this.#frames.values()].filter((row) => row.damaged && row.frame > after);
    return damaged
      .map(({ frame }) => frame)
      .sort((a, b) => a - b)
      .slice(0, maxDamagedFramesPerPage);
  }

  async setVerified(ordinals: readonly number[]): Promise<void> {
    for (const ordinal of ordinals) {
      const item = this.#items.get(ordinal);
      if (item !== undefined) this.#items.set(ordinal, { ...item, verified: true });
    }
  }

  async clear(ctx: EngineContext): Promise<number> {
    for (const map of [this.#items, this.#byId, this.#frames, this.#packs, this.#hooks, this.#sessions]) map.clear();
    for (const map of [this.#uploads, this.#snapshots, this.#claims]) map.clear();
    this.#revision++;
    this.#stale = false;
    this.#catalogId = drawNumber(ctx);
    return this.#catalogId;
  }

  async addRebuilt(found: RebuiltCatalog): Promise<void> {
    const { unit, snapshots, nextOrdinal, nextSession, chainHead, epoch, revoked } = found;
    assertSameRebuild(found, this.#catalogId);
    if (unit !== undefined) this.#register(unit);
    if (chainHead !== undefined) await this.advanceChain(chainHead, epoch);
    for (const [writer, session] of revoked ?? []) await this.revokeWriter(writer, session);
    for (const snapshot of snapshots ?? []) this.#snapshots.put(snapshot);
    this.#nextOrdinal = Math.max(this.#nextOrdinal, nextOrdinal ?? 0);
    this.#nextSession = Math.max(this.#nextSession, nextSession ?? 0);
    this.#revision++;
  }

  async close(): Promise<void> {}

  #register(unit: UploadUnit): void {
    const replaced = unit.items.flatMap((item) => {
      const old = this.#items.get(item.ordinal);
      return old === undefined ? [] : [{ item, uploads: this.uploadsPinning(old) }];
    });
    if (replaced.length > 0) this.#revision++;
    for (const row of unit.packs) {
      this.#packs.add(row);
      if (!this.#sessions.has(row.session))
        this.#sessions.set(row.session, { session: row.session, header: unit.header });
    }
    for (const row of unit.frames) this.#frames.set(row.frame, row);
    for (const item of unit.items) {
      this.#items.set(item.ordinal, item);
      const key = hex(item.id);
      this.#byId.set(key, (this.#byId.get(key) ?? new Set()).add(item.ordinal));
    }
    for (const [hook, ordinal] of unit.hooks) {
      const { owner } = this.#items.get(ordinal) ?? {};
      if (owner !== undefined) this.#hooks.set(hook, owner, ordinal);
    }
    for (const [earlier, later] of unit.follows) {
      const item = this.#items.get(earlier);
      if (item !== undefined && (item.next === 0 || item.owner === this.#items.get(later)?.owner))
        this.#items.set(earlier, { ...item, next: later });
    }
    // An upload that uses the item needs the packs of its new recipe, also those of damaged frames.
    for (const { item, uploads } of replaced)
      for (const upload of uploads) this.pinKnown(this.#packsOf(framesNeededBy(item)), upload);
  }

  /** Whether nothing has changed since the marking. */
  protected isCurrent(marking: number): boolean {
    return marking === this.#revision;
  }

  /** The uploads that have pinned all packs that an item needs: those that hold it are among them. */
  protected uploadsPinning(item: Item): string[] {
    const packs = this.#packsOf(framesNeededBy(item));
    return this.#uploads.names().filter((upload) => packs.every((pack) => this.#packs.isPinned(pack, upload)));
  }

  /** Pins packs of a known item or frame; a condemned one becomes live. */
  protected pinKnown(packs: Iterable<string>, upload: string): void {
    for (const pack of packs) this.#packs.revive(pack, upload);
  }

  /** Whether the upload has pinned the pack of a frame. */
  protected isPinned(frame: number, upload: string): boolean {
    return this.#packs.isPinned(this.#frames.get(frame)?.pack ?? "", upload);
  }

  /** Makes a pack `deleting`, and removes the frames that are still in it. */
  #toDeleting(pack: string): void {
    this.#packs.setState(pack, "deleting");
    for (const [frame, row] of this.#frames) if (row.pack === pack) this.#frames.delete(frame);
  }

  #forget(ordinal: number): void {
    const item = this.#items.get(ordinal);
    if (item === undefined) return;
    this.#items.delete(ordinal);
    this.#byId.get(hex(item.id))?.delete(ordinal);
  }

  /** Pins what an item needs and adds the item to those that the upload holds. False if the item is not known. */
  #hold(upload: string, item: Item): boolean {
    if (!this.#pinFrames(upload, framesNeededBy(item))) return false;
    this.#uploads.get(upload).held.add(item.ordinal);
    return true;
  }

  /** Pins the packs of all frames and of the records of their block lists, or none if one of them is not known. */
  #pinFrames(upload: string, frames: readonly number[]): boolean {
    for (const frame of frames) {
      for (let at = frame; at !== 0; ) {
        const row = this.#frames.get(at);
        const state = row === undefined ? undefined : this.#packs.get(row.pack)?.state;
        if (row === undefined || row.damaged || state === undefined || state === "deleting") return false;
        at = row.recordFrame;
      }
    }
    this.pinKnown(this.#packsOf(frames), upload);
    return true;
  }

  /** The packs of frames and of the records of their block lists, as far as the catalog has them. */
  #packsOf(frames: readonly number[]): string[] {
    const packs = new Set<string>();
    for (const frame of frames)
      for (let row = this.#frames.get(frame); row !== undefined; row = this.#frames.get(row.recordFrame))
        packs.add(row.pack);
    return [...packs];
  }

  #end(upload: string): void {
    this.#uploads.delete(upload);
    this.#packs.unpin(upload);
  }

  #reserve(count: number, by?: { upload: string; request: number }): OrdinalRange {
    const reserved = by === undefined ? null : this.#uploads.get(by.upload).ordinals;
    const known = reserved?.get(by?.request ?? 0);
    if (known !== undefined) return known;
    const range = { first: this.#nextOrdinal, end: this.#nextOrdinal + count };
    this.#nextOrdinal = range.end;
    if (count > 0) reserved?.set(by?.request ?? 0, range);
    return range;
  }
}
