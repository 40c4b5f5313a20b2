/**
 * Rebuild: makes the catalog anew from the object store and the master key alone. Accepts nothing that is not signed by a
 * registered writer of this vault, under its own name; what it refuses, it names.
 *
 * 1. Every pack's header and footer: sessions, frames and their places. Of two versions of a frame the one with more
 *    slots wins (rewriting only drops), then the higher generation.
 * 2. Every metadata frame: block lists, segments, nodes. Of two records of a segment the authority's later one
 *    wins, unless more of the frames that it needs are missing; nobody else may record an ordinal or rewrite a frame a second time.
 * 3. Every manifest: both signatures, its changes, its tombstone. Snapshots come back as `recovered`.
 *
 * A frame whose block list is known but whose bytes are nowhere is registered as damaged, so that a backup can heal it.
 */

import type { FrameRow, Item, SnapshotRow, UploadUnit } from "../catalog/catalog.ts";
import { readClaim } from "../catalog/claim-session.ts";
import { Bitmap } from "../format/bitmap.ts";
import { decodeBlockList, emptyBlockList, encodeBlockList } from "../format/block-list.ts";
import { FormatError, hex, sameBytes } from "../format/bytes.ts";
import { parseDataFrame } from "../format/data-frame.ts";
import { framesPerSession, openFrame, readFrameHeader } from "../format/frame.ts";
import { decodeChange, openDetails, openManifest } from "../format/manifest.ts";
import type { MetadataItem } from "../format/metadata-items.ts";
import { readMetadataItems } from "../format/metadata-items.ts";
import { lastPart } from "../format/object-names.ts";
import type { PackFrame, PackTable } from "../format/pack.ts";
import { readPackTable } from "../format/pack.ts";
import { decodeRecipe, encodeRecipe, framesOf } from "../format/recipe.ts";
import type { SessionHeader } from "../format/session-header.ts";
import { maxSession, openContentKey, sessionBinding, workerKey } from "../format/session-header.ts";
import type { WriterRegistry } from "../format/writer-registration.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { Vault } from "../vault.ts";
import { readWriters } from "../vault.ts";

export interface RebuildReport {
  readonly packs: number;
  readonly items: number;
  readonly snapshots: readonly string[];
  /** Objects that were not accepted, and why. */
  readonly refused: readonly { readonly name: string; readonly reason: string }[];
  /** Frames that are known from metadata and found in no accepted pack. */
  readonly lostFrames: readonly number[];
  /** Snapshots that reach items which were not found. */
  readonly incomplete: readonly string[];
}

/**
 * Ordinals left free above everything that was found: an upload that was running when the catalog was lost holds some, and
 * its packs may still come. Far more than one upload reserves between two units; zeros in bitmaps compress to nothing.
 */
const ordinalGap = 2 ** 20;

/** Rows per transaction of the catalog. */
const rowsPerBatch = 1000;

interface Place extends PackFrame {
  readonly pack: string;
  readonly session: number;
}

/** Rebuilds the catalog. What the catalog held before is gone. */
export async function rebuild(
  vault: Vault,
  onProgress?: (progress: { readonly packs: number }) => void,
): Promise<RebuildReport> {
  const run = new RebuildRun(vault, onProgress ?? (() => {}));
  return run.whole();
}

/** Who says what a segment holds, and whether it was proved. */
type Claim = Pick<Item, "owner" | "verified">;

class RebuildRun {
  readonly #vault: Vault;
  readonly #progress: (progress: { packs: number }) => void;
  readonly #refused: { name: string; reason: string }[] = [];
  readonly #tables: PackTable[] = [];
  readonly #versions = new Map<number, Place[]>();
  readonly #slots = new Map<string, number>();
  readonly #best = new Map<number, Place>();
  readonly #lost = new Set<number>();
  /** Data frames whose block list was found in the metadata. */
  readonly #listed = new Set<number>();
  readonly #items = new Set<number>();
  /** Segments that need frames of which nothing is left, and how many. */
  readonly #missing = new Map<number, number>();
  readonly #headers = new Map<number, SessionHeader>();
  readonly #claims = new Map<number, Awaited<ReturnType<typeof readClaim>>>();
  #batch: { frames: FrameRow[]; items: Item[]; hooks: (readonly [bigint, number])[] } = {
    frames: [],
    items: [],
    hooks: [],
  };
  #nextOrdinal = 1;
  #nextSession = 1;

  constructor(vault: Vault, progress: (progress: { packs: number }) => void) {
    this.#vault = vault;
    this.#progress = progress;
  }

  async whole(): Promise<RebuildReport> {
    const { catalog, ctx } = this.#vault;
    const writers = await readWriters(this.#vault, (name, reason) => this.#refuse(name, reason));
    await this.#readTables(writers);
    await this.#readClaims();
    await this.#countSlots();
    this.#chooseFrames();
    await catalog.clear(ctx);
    await this.#registerPacks();
    await this.#registerItems();
    const snapshots = await this.#readManifests(writers);
    const nextOrdinal = this.#nextOrdinal + ordinalGap;
    await catalog.restore({ snapshots, nextOrdinal, nextSession: this.#nextSession });
    const incomplete = snapshots.filter(({ reach }) =>
      [...Bitmap.decode(reach)].some((ordinal) => !this.#items.has(ordinal)),
    );
    return {
      packs: this.#tables.length,
      items: this.#items.size,
      snapshots: snapshots.map(({ id }) => id),
      refused: this.#refused,
      lostFrames: [...this.#lost],
      incomplete: incomplete.map(({ id }) => id),
    };
  }

  async #readTables(writers: WriterRegistry): Promise<void> {
    const { store, names, keys } = this.#vault;
    for await (const { name, size } of store.list(names.packs)) {
      const read = (offset: number, length: number) => store.get(name, { range: { offset, length } });
      const table = await this.#accept(name, async () => {
        const found = await readPackTable(lastPart(name), size, read, { vaultId: keys.vaultId, writers });
        await this.#assertClaimed(found.header);
        return found;
      });
      if (table === null) continue;
      const { session } = table.header;
      const known = this.#headers.get(session) ?? table.header;
      if (!sameBytes(known.bytes, table.header.bytes)) {
        this.#refuse(name, `a second session ${session}: a catalog was replaced without a rebuild`);
        continue;
      }
      this.#headers.set(session, known);
      this.#tables.push(table);
      this.#nextSession = Math.max(this.#nextSession, session + 1);
      for (const frame of table.frames) this.#versionOf(table, frame, name);
      this.#progress({ packs: this.#tables.length });
    }
    this.#tables.sort((a, b) => a.header.session - b.header.session);
  }

  /** Of two sessions with one number the store's claim says which is true: a writer may sign any number it likes. */
  async #assertClaimed({ session, nonce }: SessionHeader): Promise<void> {
    const known = this.#claims.get(session) ?? (await readClaim(this.#vault, session));
    this.#claims.set(session, known);
    if (typeof known === "number" && known !== nonce)
      throw new FormatError(`of a session ${session} that the store has as another's`);
  }

  /** Every number that was ever claimed is used, whether or not anything of its session is left. */
  async #readClaims(): Promise<void> {
    const { store, names } = this.#vault;
    for await (const { name } of store.list(names.sessions)) {
      const session = Number(lastPart(name));
      if (Number.isSafeInteger(session) && name === names.session(session) && session < maxSession)
        this.#nextSession = Math.max(this.#nextSession, session + 1);
      else this.#refuse(name, "not a claim of a session");
    }
  }

  /** A writer makes new frames of its own session; only the authority rewrites, its own and others'. */
  #versionOf(table: PackTable, frame: PackFrame, name: string): void {
    const { session } = table.header;
    const own = frame.generation === 0 && sessionOf(frame.frame) === session;
    if (own || this.#isAuthority(table)) this.#version({ ...frame, pack: hex(table.packId), session });
    else this.#refuse(name, `frame ${frame.frame} of another session, from a writer that may not rewrite`);
  }

  #isAuthority({ header }: PackTable): boolean {
    return sameBytes(header.writerId, this.#vault.authority.id);
  }

  #version(place: Place): void {
    const versions = this.#versions.get(place.frame) ?? [];
    if (versions.length === 0) this.#versions.set(place.frame, versions);
    versions.push(place);
  }

  /** How many blocks each version of a frame holds, from the block lists in the metadata. */
  async #countSlots(): Promise<void> {
    for await (const { item, table } of this.#metaItems(() => true)) {
      if (item.kind !== "blockList" || !this.#mayRecord(item, table)) continue;
      const filled = decodeBlockList(item.blockList).lengths.reduce((sum, length) => sum + (length > 0 ? 1 : 0), 0);
      this.#slots.set(`${item.frame} ${item.generation}`, filled);
      if (!this.#versions.has(item.frame)) this.#lost.add(item.frame);
    }
  }

  #chooseFrames(): void {
    const slotsOf = (place: Place) => this.#slots.get(`${place.frame} ${place.generation}`) ?? 0;
    for (const [frame, versions] of this.#versions) {
      const [best] = versions.sort((a, b) => slotsOf(b) - slotsOf(a) || b.generation - a.generation);
      if (best !== undefined) this.#best.set(frame, best);
    }
  }

  async #registerPacks(): Promise<void> {
    for (const { packId, header, size, frames } of this.#tables) {
      const pack = hex(packId);
      const own = frames.filter(({ frame }) => this.#best.get(frame)?.pack === pack);
      const rows = own.map((place) => this.#row({ ...place, pack, session: header.session }, new Uint8Array(0), 0));
      const row = { pack, session: header.session, size, state: "live" } as const;
      await this.#vault.catalog.restore({ unit: { ...nothing, packs: [row], header: header.bytes, frames: rows } });
    }
  }

  async #registerItems(): Promise<void> {
    const chosen = ({ frame, generation }: PackFrame, pack: string) => {
      const best = this.#best.get(frame);
      return best?.pack === pack && best.generation === generation;
    };
    for await (const { item, frame, slot, table } of this.#metaItems(chosen)) {
      if (item.kind === "gone" || !this.#mayRecord(item, table)) continue;
      // What upkeep rewrote is still its first writer's.
      const first = this.#headers.get(sessionOf(frame)) ?? table.header;
      const owner = hex(first.writerId);
      const isRelaid = this.#isAuthority(table) && sessionOf(frame) === table.header.session;
      if (item.kind === "blockList") await this.#registerBlockList(item, frame);
      else if (item.kind === "segment")
        await this.#registerSegment(
          item,
          frame,
          isRelaid ? this.#claimOf(item.recipe, owner) : { owner, verified: false },
        );
      else {
        const recipe = encodeRecipe([{ kind: "stored", frame, slot, count: 1, bytes: item.bytes.length }]);
        await this.#registerItem({ ...item, kind: "node", recipe, record: frame, owner, verified: false }, []);
      }
    }
    for (const place of this.#best.values())
      if (place.kind === "data" && !this.#listed.has(place.frame)) await this.#registerUnlisted(place);
    await this.#flush();
  }

  /** A frame whose record is missing still has its block list in itself. One that does not open is damaged. */
  async #registerUnlisted(place: Place): Promise<void> {
    const { store, names, keys } = this.#vault;
    const { frame, generation, offset, length, pack, session } = place;
    const blockList = await this.#accept(names.pack(pack), async () => {
      const sealed = await store.get(names.pack(pack), { range: { offset, length } });
      const header = readFrameHeader(sealed);
      const sealer = this.#headers.get(session);
      if (sealer === undefined || header.frame !== frame || header.generation !== generation)
        throw new FormatError("a frame is not the one its pack names");
      const key = workerKey(openContentKey(keys.privateSeed, sealer), header.worker);
      return parseDataFrame(openFrame(sealed, key, sessionBinding(sealer))).blockList;
    });
    const row = this.#row(place, encodeBlockList(blockList ?? emptyBlockList), 0);
    await this.#register([{ ...row, damaged: blockList === null }], [], []);
  }

  /** A writer records what is new; only the authority gives a known ordinal or another's frame a new record. */
  #mayRecord(item: MetadataItem, table: PackTable): boolean {
    if (item.kind === "gone" || this.#isAuthority(table)) return true;
    const { session } = table.header;
    const foreign =
      item.kind === "blockList"
        ? item.generation !== 0 || sessionOf(item.frame) !== session
        : this.#items.has(item.ordinal);
    if (foreign) this.#refuse(this.#vault.names.pack(hex(table.packId)), "records what another session has recorded");
    return !foreign;
  }

  /**
   * Whose word a segment is that upkeep laid down again. It proved the blocks that it moved; those that it left are their
   * writer's claim as before, which counts for that writer alone, and for nobody where there are several.
   */
  #claimOf(recipe: Uint8Array, authority: string): Claim {
    const sessions = new Set(framesOf(decodeRecipe(recipe)).map(sessionOf));
    const writers = new Set(
      [...sessions].map((session) => hex(this.#headers.get(session)?.writerId ?? new Uint8Array(0))),
    );
    writers.delete(authority);
    const [only] = writers;
    return { owner: writers.size === 1 && only !== undefined ? only : authority, verified: writers.size === 0 };
  }

  async #registerBlockList(item: MetadataItem & { kind: "blockList" }, record: number): Promise<void> {
    const best = this.#best.get(item.frame);
    if (best !== undefined && best.generation !== item.generation) return;
    this.#listed.add(item.frame);
    const lost: Place = {
      frame: item.frame,
      generation: item.generation,
      kind: "data",
      frameId: Buffer.alloc(32),
      offset: 0,
      length: 0,
      pack: "lost",
      session: 0,
    };
    const row = this.#row(best ?? lost, Buffer.from(item.blockList), record);
    await this.#register([{ ...row, damaged: best === undefined }], [], []);
  }

  async #registerSegment(
    item: MetadataItem & { kind: "segment" },
    record: number,
    { owner, verified }: Claim,
  ): Promise<void> {
    const missing = framesOf(decodeRecipe(item.recipe)).filter((frame) => !this.#best.has(frame)).length;
    if (missing > (this.#missing.get(item.ordinal) ?? 0) && this.#items.has(item.ordinal)) return;
    if (missing > 0) this.#missing.set(item.ordinal, missing);
    else this.#missing.delete(item.ordinal);
    const hooks = item.hooks.map((hook) => [hook, item.ordinal] as const);
    await this.#registerItem(
      { ordinal: item.ordinal, kind: "segment", id: item.id, recipe: item.recipe, record, owner, verified },
      hooks,
    );
  }

  async #registerItem(item: Omit<Item, "next">, hooks: UploadUnit["hooks"]): Promise<void> {
    const { ordinal, kind, id, recipe, record, owner, verified } = item;
    this.#items.add(ordinal);
    this.#nextOrdinal = Math.max(this.#nextOrdinal, ordinal + 1);
    const row: Item = { ordinal, kind, id, recipe, record, owner, next: 0, verified };
    await this.#register([], [row], hooks);
  }

  /** Collects rows and hands them to the catalog in batches: one by one, each would be a transaction. */
  async #register(frames: readonly FrameRow[], items: readonly Item[], hooks: UploadUnit["hooks"]): Promise<void> {
    this.#batch.frames.push(...frames);
    this.#batch.items.push(...items);
    this.#batch.hooks.push(...hooks);
    if (this.#batch.frames.length + this.#batch.items.length >= rowsPerBatch) await this.#flush();
  }

  async #flush(): Promise<void> {
    const { frames, items, hooks } = this.#batch;
    this.#batch = { frames: [], items: [], hooks: [] };
    await this.#vault.catalog.restore({ unit: { ...nothing, frames, items, hooks } });
  }

  /** All items of the metadata frames that `wanted` picks, in the order of sessions. */
  async *#metaItems(
    wanted: (frame: PackFrame, pack: string) => boolean,
  ): AsyncGenerator<{ item: MetadataItem; frame: number; slot: number; table: PackTable }> {
    const { store, names, keys } = this.#vault;
    for (const table of this.#tables) {
      const pack = hex(table.packId);
      const frames = table.frames.filter((frame) => frame.kind === "meta" && wanted(frame, pack));
      if (frames.length === 0) continue;
      const open = await this.#accept(names.pack(pack), async () => ({
        contentKey: openContentKey(keys.privateSeed, table.header),
        binding: sessionBinding(table.header),
      }));
      if (open === null) continue;
      // Frame by frame: one that is damaged must not cost the others of its pack.
      for (const { offset, length, frame, generation } of frames) {
        const items = await this.#accept(names.pack(pack), async () => {
          const sealed = await store.get(names.pack(pack), { range: { offset, length } });
          const header = readFrameHeader(sealed);
          if (header.frame !== frame || header.generation !== generation)
            throw new FormatError("a frame is not the one its pack names");
          const found = readMetadataItems(openFrame(sealed, workerKey(open.contentKey, header.worker), open.binding));
          for (const item of found) assertReads(item);
          return found;
        });
        for (const [slot, item] of (items ?? []).entries()) yield { item, frame, slot, table };
      }
    }
  }

  async #readManifests(writers: WriterRegistry): Promise<SnapshotRow[]> {
    const { store, names, keys } = this.#vault;
    const objects = new Map<string, string[]>();
    for await (const { name } of store.list(names.snapshots)) {
      const snapshot = name.slice(names.snapshots.length).split("/")[0] ?? "";
      objects.set(snapshot, [...(objects.get(snapshot) ?? []), name]);
    }
    const rows: SnapshotRow[] = [];
    for (const [snapshot, list] of objects) {
      const expected = { snapshot, vaultId: keys.vaultId };
      const name = names.manifest(snapshot);
      if (!list.includes(name) || (await this.#isDeleted(snapshot, list))) continue;
      const row = await this.#accept(name, async () => {
        const manifest = openManifest(await store.get(name), expected, writers, keys.authorityPublicKey);
        await this.#assertClaimed(manifest.header);
        const { session, bytes } = manifest.header;
        if (!sameBytes((this.#headers.get(session) ?? manifest.header).bytes, bytes))
          throw new FormatError(`of a second session ${session}: a catalog was replaced without a rebuild`);
        this.#nextSession = Math.max(this.#nextSession, session + 1);
        return { ...manifest.row, source: openDetails(keys.privateSeed, manifest).source };
      });
      if (row === null) continue;
      this.#nextOrdinal = Math.max(this.#nextOrdinal, Bitmap.decode(row.reach).highest + 1);
      rows.push(
        await this.#changed(
          row,
          list.filter((each) => lastPart(each).startsWith("change-")),
        ),
      );
    }
    return rows;
  }

  async #isDeleted(snapshot: string, objects: readonly string[]): Promise<boolean> {
    const { store, names, keys } = this.#vault;
    const name = names.tombstone(snapshot);
    if (!objects.includes(name)) return false;
    const change = await this.#accept(name, async () =>
      decodeChange(await store.get(name), { snapshot, vaultId: keys.vaultId }, keys.authorityPublicKey),
    );
    return change?.kind === "deleted";
  }

  async #changed(row: SnapshotRow, changes: readonly string[]): Promise<SnapshotRow> {
    const { store, keys, names } = this.#vault;
    let retention = row.retention;
    let newest = 0;
    for (const name of [...changes].sort()) {
      const expected = { snapshot: row.id, vaultId: keys.vaultId };
      // Also one that does not read has used its number.
      const number = Number(lastPart(name).slice("change-".length));
      if (name === names.change(row.id, number)) newest = Math.max(newest, number);
      const change = await this.#accept(name, async () =>
        decodeChange(await store.get(name), expected, keys.authorityPublicKey),
      );
      if (change?.kind === "retention" && name === names.change(row.id, change.number)) retention = change.retention;
    }
    return { ...row, retention, changes: newest };
  }

  #row(place: Place, blockList: Uint8Array, record: number): FrameRow {
    const { frame, generation, kind, pack, offset, length, frameId, session } = place;
    return { frame, generation, kind, pack, offset, length, frameId, session, blockList, record, damaged: false };
  }

  /** Runs a reading step; a foreign or broken object is refused by name. */
  async #accept<T>(name: string, read: () => Promise<T>): Promise<T | null> {
    try {
      return await read();
    } catch (error) {
      const gone = isObjectStoreError(error, "not_found") || isObjectStoreError(error, "range");
      if (!gone && !(error instanceof FormatError)) throw error;
      this.#refuse(name, error.message);
      return null;
    }
  }

  #refuse(name: string, reason: string): void {
    if (!this.#refused.some((each) => each.name === name)) this.#refused.push({ name, reason });
  }
}

/** Throws `FormatError` where the inside of an item does not read: later steps take it for granted. */
function assertReads(item: MetadataItem): void {
  if (item.kind === "segment") decodeRecipe(item.recipe);
  else if (item.kind === "blockList") decodeBlockList(item.blockList);
}

/** The logical session of a frame. */
function sessionOf(frame: number): number {
  return Math.floor(frame / framesPerSession);
}

const nothing: UploadUnit = { packs: [], header: new Uint8Array(0), frames: [], items: [], hooks: [], follows: [] };
