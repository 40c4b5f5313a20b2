/**
 * The catalog in memory, for tests and simulations. The same rules as everywhere (`port.ts`); every method runs to its end
 * without yielding, so each is one atomic step.
 */

import type { EngineContext } from "../context.ts";
import { Bitmap } from "../format/bitmap.ts";
import { hex } from "../format/bytes.ts";
import type {
  Catalog,
  CondemnedPacks,
  FrameMove,
  FrameRow,
  FrameVersion,
  Item,
  NewUpload,
  PackRow,
  RebuiltCatalog,
  Retention,
  SessionNumbers,
  SessionRow,
  SnapshotRow,
  UploadStart,
  UploadUnit,
} from "./catalog.ts";
import { CatalogError } from "./catalog.ts";
import { assertDeletable, drawNumber, itemFrames, restingOn, takesChange } from "./rules.ts";

/**
 * Bugs that a simulation can plant to prove that it would find them: answering "known" without pinning, condemning by a
 * marking that is out of date, and replacing a recipe without its holders' pins.
 */
export type PlantedBug = "unpinned-answer" | "stale-condemn" | "lost-pins";

interface LiveUpload {
  readonly owner: string;
  readonly session: number;
  readonly reach: Uint8Array;
  leaseUntil: number;
}

export class MemoryCatalog implements Catalog {
  readonly #items = new Map<number, Item>();
  readonly #byId = new Map<string, Set<number>>();
  readonly #frames = new Map<number, FrameRow>();
  readonly #packs = new Map<string, PackRow>();
  /** The marking by which a pack was condemned last. */
  readonly #markings = new Map<string, number>();
  readonly #pins = new Map<string, Set<string>>();
  readonly #hooks = new Map<bigint, Map<string, number>>();
  readonly #sessions = new Map<number, SessionRow>();
  readonly #uploads = new Map<string, LiveUpload>();
  readonly #snapshots = new Map<string, SnapshotRow>();
  readonly #claims = new Map<number, { readonly nonce: number; open: boolean }>();
  readonly #planted: PlantedBug | null;
  readonly #ctx: EngineContext;
  #stale = false;
  #generation = 1;
  #incarnation: number;
  #nextOrdinal = 1;
  #nextSession = 1;

  constructor(ctx: EngineContext, planted: PlantedBug | null = null) {
    this.#ctx = ctx;
    this.#incarnation = drawNumber(ctx);
    this.#planted = planted;
  }

  async beginUpload({ upload, owner, leaseUntil, base }: NewUpload): Promise<UploadStart> {
    const reach = base === null ? new Uint8Array(0) : this.#snapshot(base).reach;
    if (this.#stale) throw new CatalogError("stale", "another catalog has used its numbers");
    const session = this.#nextSession++;
    const nonce = drawNumber(this.#ctx);
    this.#claims.set(session, { nonce, open: true });
    this.#uploads.set(upload, { owner, session, reach, leaseUntil });
    const damaged = [...this.#items.values()].filter((item) =>
      itemFrames(item).some((frame) => this.#frames.get(frame)?.damaged),
    );
    return { session, nonce, generation: this.#incarnation, damaged: damaged.map(({ ordinal }) => ordinal) };
  }

  async settleClaim(session: number, ours: boolean): Promise<void> {
    const claim = this.#claims.get(session);
    if (claim !== undefined) claim.open = false;
    if (!ours) this.#stale = true;
  }

  async renewUpload(upload: string, now: number, leaseUntil: number): Promise<void> {
    this.#live(upload, now).leaseUntil = leaseUntil;
  }

  async endUpload(upload: string): Promise<void> {
    this.#end(upload);
  }

  async expireUploads(now: number): Promise<readonly string[]> {
    const ended = [...this.#uploads].filter(([, { leaseUntil }]) => leaseUntil <= now).map(([upload]) => upload);
    for (const upload of ended) this.#end(upload);
    return ended;
  }

  async reserveOrdinals(count: number): Promise<number> {
    const first = this.#nextOrdinal;
    this.#nextOrdinal += count;
    return first;
  }

  async acquire(upload: string, ids: readonly Uint8Array[]): Promise<readonly (Item | null)[]> {
    const { owner } = this.#upload(upload);
    return ids.map((id) => {
      const candidates = [...(this.#byId.get(hex(id)) ?? [])].sort((a, b) => b - a);
      for (const ordinal of candidates) {
        const item = this.#items.get(ordinal);
        if (item === undefined || !(item.verified || item.owner === owner)) continue;
        if (this.#pinFrames(upload, restingOn(item))) return item;
      }
      return null;
    });
  }

  async acquireFrames(upload: string, frames: readonly number[]): Promise<readonly boolean[]> {
    this.#upload(upload);
    return frames.map((frame) => this.#pinFrames(upload, [frame]));
  }

  async addUnit(upload: string, now: number, unit: UploadUnit): Promise<void> {
    this.#live(upload, now);
    this.#register(unit);
    for (const { pack } of unit.packs) this.#pin(pack, upload);
  }

  async commit(upload: string, now: number, snapshot: SnapshotRow): Promise<void> {
    const { reach } = this.#live(upload, now);
    if (this.#snapshots.has(snapshot.id)) throw new CatalogError("conflict", `snapshot ${snapshot.id} exists`);
    for (const ordinal of Bitmap.decode(snapshot.reach).minus(Bitmap.decode(reach))) {
      const item = this.#items.get(ordinal);
      const closed = item !== undefined && restingOn(item).every((frame) => this.#isPinned(frame, upload));
      if (!closed) throw new CatalogError("not_closed", `item ${ordinal} is neither in the base nor pinned`);
    }
    this.#snapshots.set(snapshot.id, snapshot);
    this.#end(upload);
    this.#generation++;
  }

  async findHooks(owner: string, hooks: readonly bigint[]): Promise<readonly (number | null)[]> {
    return hooks.map((hook) => {
      const there = [...(this.#hooks.get(hook) ?? [])].filter(([, ordinal]) => this.#items.has(ordinal));
      const own = there.find(([each]) => each === owner)?.[1];
      const others = there.map(([, ordinal]) => ordinal).filter((ordinal) => this.#items.get(ordinal)?.verified);
      return own ?? (others.length === 0 ? null : Math.max(...others));
    });
  }

  async itemsByOrdinal(ordinals: readonly number[]): Promise<readonly (Item | null)[]> {
    return ordinals.map((ordinal) => this.#items.get(ordinal) ?? null);
  }

  async itemsById(ids: readonly Uint8Array[]): Promise<readonly (Item | null)[]> {
    return ids.map((id) => {
      const ordinals = [...(this.#byId.get(hex(id)) ?? [])];
      return ordinals.length === 0 ? null : (this.#items.get(Math.max(...ordinals)) ?? null);
    });
  }

  async frames(frames: readonly number[]): Promise<readonly (FrameRow | null)[]> {
    return frames.map((frame) => this.#frames.get(frame) ?? null);
  }

  async session(session: number): Promise<SessionRow | null> {
    return this.#sessions.get(session) ?? null;
  }

  async snapshots(): Promise<readonly SnapshotRow[]> {
    return [...this.#snapshots.values()].sort((a, b) => a.completedAt - b.completedAt || (a.id < b.id ? -1 : 1));
  }

  async changeRetention(id: string, retention: Retention, number: number): Promise<void> {
    const row = this.#snapshot(id);
    if (takesChange(row, number)) this.#snapshots.set(id, { ...row, retention, changes: number });
  }

  async beginDeleteSnapshot(id: string, now: number): Promise<void> {
    const row = this.#snapshot(id);
    assertDeletable(row, now);
    this.#snapshots.set(id, { ...row, status: "deleting" });
  }

  async deleteSnapshot(id: string, now: number): Promise<void> {
    assertDeletable(this.#snapshot(id), now);
    this.#snapshots.delete(id);
    this.#generation++;
  }

  async roots(): Promise<{ readonly generation: number; readonly reach: readonly Uint8Array[] }> {
    const rows = [...this.#snapshots.values(), ...this.#uploads.values()];
    return { generation: this.#generation, reach: rows.map(({ reach }) => reach) };
  }

  async *allItems(): AsyncIterable<Item> {
    yield* [...this.#items.values()].sort((a, b) => a.ordinal - b.ordinal);
  }

  async *allFrames(): AsyncIterable<FrameRow> {
    yield* [...this.#frames.values()].sort((a, b) => a.frame - b.frame);
  }

  async packs(): Promise<readonly PackRow[]> {
    return [...this.#packs.values()].sort((a, b) => (a.pack < b.pack ? -1 : 1));
  }

  async sessions(): Promise<SessionNumbers> {
    const open = [...this.#claims].filter(([, claim]) => claim.open);
    return {
      live: [...this.#uploads.values()].map(({ session }) => session),
      next: this.#nextSession,
      open: open.map(([session, { nonce }]) => ({ session, nonce })),
      stale: this.#stale,
    };
  }

  async givenNonce(session: number): Promise<number | null> {
    return this.#claims.get(session)?.nonce ?? null;
  }

  async condemn(packs: readonly string[], marking: number): Promise<CondemnedPacks> {
    if (marking !== this.#generation && this.#planted !== "stale-condemn") return { condemned: [], stale: true };
    const states = new Set<string | undefined>(["live", "condemned"]);
    const condemned = packs.filter((pack) => states.has(this.#packs.get(pack)?.state) && !this.#pins.has(pack));
    for (const pack of condemned) {
      this.#setState(pack, "condemned");
      this.#markings.set(pack, marking);
    }
    return { condemned, stale: false };
  }

  async beginDelete(pack: string, marking: number, deadItems: readonly number[]): Promise<boolean> {
    if (!this.#isCondemned(pack, marking)) return false;
    this.#setState(pack, "deleting");
    for (const [frame, row] of this.#frames) if (row.pack === pack) this.#frames.delete(frame);
    for (const ordinal of deadItems) this.#forget(ordinal);
    return true;
  }

  async forgetPack(pack: string): Promise<void> {
    if (this.#packs.get(pack)?.state !== "deleting") return;
    this.#packs.delete(pack);
    this.#markings.delete(pack);
  }

  async moveFrames(
    upload: string,
    now: number,
    unit: UploadUnit,
    moves: readonly FrameMove[],
    deadItems: readonly number[],
  ): Promise<boolean> {
    this.#live(upload, now);
    const left = new Set<string>();
    for (const { from, to } of moves) {
      const row = this.#frames.get(to.frame);
      if (row?.pack !== from.pack || row.generation !== from.generation) return false;
      if (from.marking === null) continue;
      if (!this.#isCondemned(from.pack, from.marking)) return false;
      left.add(from.pack);
    }
    this.#register(unit);
    for (const { to } of moves) this.#frames.set(to.frame, to);
    for (const ordinal of deadItems) this.#forget(ordinal);
    for (const pack of left) this.#setState(pack, "deleting");
    this.#generation++;
    return true;
  }

  async setDamaged(marks: readonly FrameVersion[], damaged: boolean): Promise<void> {
    for (const { frame, pack, generation } of marks) {
      const row = this.#frames.get(frame);
      if (row?.pack === pack && row.generation === generation) this.#frames.set(frame, { ...row, damaged });
    }
    this.#generation++;
  }

  async damagedFrames(): Promise<readonly number[]> {
    return [...this.#frames.values()].filter(({ damaged }) => damaged).map(({ frame }) => frame);
  }

  async setVerified(ordinals: readonly number[]): Promise<void> {
    for (const ordinal of ordinals) {
      const item = this.#items.get(ordinal);
      if (item !== undefined) this.#items.set(ordinal, { ...item, verified: true });
    }
  }

  async clear(ctx: EngineContext): Promise<void> {
    const all = [
      this.#items,
      this.#byId,
      this.#frames,
      this.#packs,
      this.#markings,
      this.#pins,
      this.#hooks,
      this.#sessions,
      this.#uploads,
    ];
    for (const map of [...all, this.#snapshots]) map.clear();
    this.#generation++;
    this.#claims.clear();
    this.#stale = false;
    this.#incarnation = drawNumber(ctx);
  }

  async restore({ unit, snapshots, nextOrdinal, nextSession }: RebuiltCatalog): Promise<void> {
    if (unit !== undefined) this.#register(unit);
    for (const snapshot of snapshots ?? []) this.#snapshots.set(snapshot.id, snapshot);
    this.#nextOrdinal = Math.max(this.#nextOrdinal, nextOrdinal ?? 0);
    this.#nextSession = Math.max(this.#nextSession, nextSession ?? 0);
    this.#generation++;
  }

  async close(): Promise<void> {}

  #register(unit: UploadUnit): void {
    const replaced = unit.items.flatMap((item) => {
      const old = this.#items.get(item.ordinal);
      return old === undefined ? [] : [{ item, holders: this.#holders(old) }];
    });
    if (replaced.length > 0) this.#generation++;
    for (const row of unit.packs) {
      if (this.#packs.has(row.pack)) throw new CatalogError("conflict", `pack ${row.pack} is registered already`);
      this.#packs.set(row.pack, row);
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
      if (owner !== undefined) this.#hooks.set(hook, (this.#hooks.get(hook) ?? new Map()).set(owner, ordinal));
    }
    for (const [earlier, later] of unit.follows) {
      const item = this.#items.get(earlier);
      if (item !== undefined && (item.next === 0 || item.owner === this.#items.get(later)?.owner))
        this.#items.set(earlier, { ...item, next: later });
    }
    // Whoever was told that it is known goes on to hold what it rests on.
    for (const { item, holders } of replaced) for (const upload of holders) this.#pinFrames(upload, restingOn(item));
  }

  /** The uploads that have pinned everything that an item rests on. */
  #holders(item: Item): string[] {
    if (this.#planted === "lost-pins") return [];
    const frames = restingOn(item);
    return [...this.#uploads.keys()].filter((upload) => frames.every((frame) => this.#isPinned(frame, upload)));
  }

  #forget(ordinal: number): void {
    const item = this.#items.get(ordinal);
    if (item === undefined) return;
    this.#items.delete(ordinal);
    this.#byId.get(hex(item.id))?.delete(ordinal);
  }

  #pinFrames(upload: string, frames: readonly number[]): boolean {
    const packs = new Set<string>();
    for (const frame of frames) {
      for (let at = frame; at !== 0; ) {
        const row = this.#frames.get(at);
        const state = row === undefined ? undefined : this.#packs.get(row.pack)?.state;
        if (row === undefined || row.damaged || state === undefined || state === "deleting") return false;
        packs.add(row.pack);
        at = row.record;
      }
    }
    if (this.#planted === "unpinned-answer") return true;
    for (const pack of packs) {
      this.#pin(pack, upload);
      if (this.#packs.get(pack)?.state === "condemned") this.#setState(pack, "live");
    }
    return true;
  }

  #pin(pack: string, upload: string): void {
    this.#pins.set(pack, (this.#pins.get(pack) ?? new Set()).add(upload));
  }

  #isPinned(frame: number, upload: string): boolean {
    if (this.#planted === "unpinned-answer") return this.#frames.has(frame);
    return this.#pins.get(this.#frames.get(frame)?.pack ?? "")?.has(upload) ?? false;
  }

  #isCondemned(pack: string, marking: number): boolean {
    const { state } = this.#packs.get(pack) ?? {};
    return state === "condemned" && !this.#pins.has(pack) && this.#markings.get(pack) === marking;
  }

  #setState(pack: string, state: PackRow["state"]): void {
    const row = this.#packs.get(pack);
    if (row !== undefined) this.#packs.set(pack, { ...row, state });
  }

  #end(upload: string): void {
    this.#uploads.delete(upload);
    for (const [pack, uploads] of this.#pins) if (uploads.delete(upload) && uploads.size === 0) this.#pins.delete(pack);
  }

  #upload(upload: string): LiveUpload {
    const live = this.#uploads.get(upload);
    if (live === undefined) throw new CatalogError("unknown_upload", upload);
    return live;
  }

  #live(upload: string, now: number): LiveUpload {
    const live = this.#upload(upload);
    if (live.leaseUntil <= now) throw new CatalogError("lease_expired", upload);
    return live;
  }

  #snapshot(id: string): SnapshotRow {
    const row = this.#snapshots.get(id);
    if (row === undefined) throw new CatalogError("unknown_snapshot", id);
    return row;
  }
}
