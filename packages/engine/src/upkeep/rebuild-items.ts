/** Registers packs, frames, block lists, segments and nodes in the catalog that a rebuild makes. */

import type { FrameRow, Item, UploadUnit } from "../catalog/catalog.ts";
import { emptyBlockList, encodeBlockList } from "../format/block-list.ts";
import { FormatError, hex } from "../format/bytes.ts";
import { parseDataFrame } from "../format/data-frame.ts";
import { openFrame, readFrameHeader, sessionOfFrame } from "../format/frame.ts";
import type { MetadataItem } from "../format/metadata-items.ts";
import { decodeRecipe, encodeRecipe, framesOf } from "../format/recipe.ts";
import { frameKey, openContentKey, sessionBinding } from "../format/session-header.ts";
import type { ReadableVault } from "../vault.ts";
import type { ReservedOrdinals } from "./rebuild-ordinals.ts";
import type { StoredFrame, StoredItem, StoredPacks } from "./rebuild-packs.ts";
import type { Refusals } from "./rebuild-refusals.ts";
import type { KnownSessions } from "./rebuild-sessions.ts";
import { KnownSlots } from "./rebuild-versions.ts";

/** Rows per transaction of the catalog. */
const rowsPerBatch = 1000;

/** Who an item belongs to, and whether its bytes were compared with its id. */
type Ownership = Pick<Item, "owner" | "verified">;

/**
 * The owner of a segment that needs blocks which upkeep has dropped. Its record stays in the metadata until that is rewritten
 * too. No upload has this owner, so none is told that the segment is stored: the next backup stores it again.
 */
const nobody = "";

const emptyUnit: UploadUnit = { packs: [], header: new Uint8Array(0), frames: [], items: [], hooks: [], follows: [] };

export class ItemRegistration {
  readonly #vault: ReadableVault;
  readonly #packs: StoredPacks;
  readonly #sessions: KnownSessions;
  readonly #refusals: Refusals;
  /** Data frames whose block list was found in the metadata. */
  readonly #withBlockList = new Set<number>();
  readonly #ordinals = new Set<number>();
  /** Segments that need blocks which no chosen version of a frame has, and how many such blocks. */
  readonly #missingBlocks = new Map<number, number>();
  readonly #slots = new KnownSlots();
  #batch = newBatch();
  #nextOrdinal = 1;
  #catalogId: number | undefined;

  constructor(vault: ReadableVault, packs: StoredPacks, sessions: KnownSessions, refusals: Refusals) {
    this.#vault = vault;
    this.#packs = packs;
    this.#sessions = sessions;
    this.#refusals = refusals;
  }

  get count(): number {
    return this.#ordinals.size;
  }

  /** One more than the highest ordinal that was registered. */
  get nextOrdinal(): number {
    return this.#nextOrdinal;
  }

  has(ordinal: number): boolean {
    return this.#ordinals.has(ordinal);
  }

  /** Whether a segment needs blocks that no registered frame has. */
  hasMissingBlocks(ordinal: number): boolean {
    return this.#missingBlocks.has(ordinal);
  }

  /** Reads the block lists in the metadata: the slots of each version, and which frames no pack has. */
  async readBlockLists(): Promise<{ slots: KnownSlots; lostFrames: ReadonlySet<number> }> {
    const lostFrames = new Set<number>();
    for await (const stored of this.#packs.metadataItems(() => true)) {
      const { item, version } = stored;
      if (item.kind !== "blockList" || !this.#mayRecord(stored)) continue;
      this.#slots.add(item, version.frame);
      if (this.#packs.versions(item.frame).length === 0) lostFrames.add(item.frame);
    }
    return { slots: this.#slots, lostFrames };
  }

  /** Registers every pack with the chosen versions of its frames, in the catalog that was cleared and got this id. */
  async registerPacks(catalogId: number): Promise<void> {
    this.#catalogId = catalogId;
    for (const { packId, header, size, frames } of this.#packs.tables) {
      const pack = hex(packId);
      const chosen = frames.filter(({ frame }) => this.#packs.chosen.get(frame)?.pack === pack);
      const rows = chosen.map((frame) =>
        frameRow({ ...frame, pack, session: header.session }, new Uint8Array(0), 0, false),
      );
      const row = { pack, session: header.session, size, state: "live" } as const;
      await this.#register({ ...emptyUnit, packs: [row], header: header.bytes, frames: rows });
    }
  }

  /** Registers what the metadata frames hold. `reserved` says which session may record which ordinal. */
  async registerItems(reserved: ReservedOrdinals): Promise<void> {
    for await (const stored of this.#packs.metadataItems((version) => this.#packs.isChosen(version)))
      if (this.#mayRecord(stored, reserved)) await this.#registerItem(stored);
    for (const frame of this.#packs.chosen.values())
      if (frame.kind === "data" && !this.#withBlockList.has(frame.frame)) await this.#registerWithoutRecord(frame);
    await this.#flush();
  }

  /**
   * Whether a pack may hold this record. A writer records what is new; only the authority replaces records. Upkeep copies
   * the records of a frame that it rewrites: they count no more than in the pack of their writer.
   */
  #mayRecord({ item, version, table }: StoredItem, reserved?: ReservedOrdinals): boolean {
    if (item.kind === "dropped") return true;
    const session = sessionOfFrame(version.frame);
    const isCopy = item.kind !== "blockList" && reserved?.isOfClient(session) === true;
    if (this.#packs.isOfAuthority(table) && !isCopy) return true;
    const isNew =
      item.kind === "blockList"
        ? item.generation === 0 && sessionOfFrame(item.frame) === session
        : reserved?.allows(session, item.ordinal) === true && !this.#ordinals.has(item.ordinal);
    if (!isNew)
      this.#refusals.add(
        this.#vault.names.pack(hex(table.packId)),
        "records what another session has recorded or reserved",
      );
    return isNew;
  }

  async #registerItem({ item, version: { frame }, slot, table }: StoredItem): Promise<void> {
    if (item.kind === "dropped") return;
    // A frame that upkeep rewrote still belongs to the writer of its first session.
    const first = this.#sessions.header(sessionOfFrame(frame)) ?? table.header;
    const owner = hex(first.writerId);
    if (item.kind === "blockList") return this.#registerBlockList(item, frame);
    if (item.kind === "segment") {
      const isRepacked = this.#packs.isOfAuthority(table) && sessionOfFrame(frame) === table.header.session;
      const ownership = isRepacked ? this.#repackedOwnership(item.recipe, owner) : { owner, verified: false };
      return this.#registerSegment(item, frame, ownership);
    }
    const { ordinal, id } = item;
    const recipe = encodeRecipe([{ kind: "stored", frame, slot, count: 1, bytes: item.bytes.length }]);
    await this.#addItem({ ordinal, id, kind: "node", recipe, recordFrame: frame, owner, verified: false }, []);
  }

  /**
   * The owner of a segment that repack has recorded. Repack compared the blocks that it moved. Blocks that it did not move
   * were not compared: if one writer stored all of them, the segment belongs to that writer; otherwise to the authority.
   */
  #repackedOwnership(recipe: Uint8Array, authority: string): Ownership {
    const sessions = new Set(framesOf(decodeRecipe(recipe)).map(sessionOfFrame));
    const writers = new Set(
      [...sessions].map((session) => hex(this.#sessions.header(session)?.writerId ?? new Uint8Array(0))),
    );
    writers.delete(authority);
    const [only] = writers;
    return { owner: writers.size === 1 && only !== undefined ? only : authority, verified: writers.size === 0 };
  }

  async #registerBlockList(item: MetadataItem & { kind: "blockList" }, recordFrame: number): Promise<void> {
    const { frame, generation } = item;
    const chosen = this.#packs.chosen.get(frame);
    const isOther = chosen?.generation !== generation || chosen.session !== sessionOfFrame(recordFrame);
    if (chosen !== undefined && isOther) return;
    this.#withBlockList.add(frame);
    const blockList = Buffer.from(item.blockList);
    await this.#add(
      [frameRow(chosen ?? lostFrame(frame, generation), blockList, recordFrame, chosen === undefined)],
      [],
      [],
    );
  }

  /** Registers a data frame without a record in the metadata, by the block list in the frame itself. */
  async #registerWithoutRecord(stored: StoredFrame): Promise<void> {
    const { store, names, keys } = this.#vault;
    const { frame, generation, offset, length, pack, session } = stored;
    const blockList = await this.#refusals.accept(names.pack(pack), async () => {
      const sealed = await store.get(names.pack(pack), { range: { offset, length } });
      const header = readFrameHeader(sealed);
      const sealer = this.#sessions.header(session);
      if (sealer === undefined || header.frame !== frame || header.generation !== generation)
        throw new FormatError("a frame is not the one in the footer of its pack");
      const key = frameKey(openContentKey(keys, sealer), header);
      return parseDataFrame(openFrame(sealed, key, sessionBinding(sealer))).blockList;
    });
    await this.#add([frameRow(stored, encodeBlockList(blockList ?? emptyBlockList), 0, blockList === null)], [], []);
  }

  async #registerSegment(
    item: MetadataItem & { kind: "segment" },
    recordFrame: number,
    ownership: Ownership,
  ): Promise<void> {
    const { ordinal, id } = item;
    const recipe = decodeRecipe(item.recipe);
    const versionsOf = (frame: number) => {
      const chosen = this.#packs.chosen.get(frame);
      return chosen === undefined ? [] : [chosen];
    };
    const missing = this.#slots.countMissing(recipe, versionsOf);
    if (missing > (this.#missingBlocks.get(ordinal) ?? 0) && this.#ordinals.has(ordinal)) return;
    const needsDropped = missing > 0 && this.#slots.countDropped(recipe, versionsOf) > 0;
    if (missing > 0) this.#missingBlocks.set(ordinal, missing);
    else this.#missingBlocks.delete(ordinal);
    const hooks = item.hooks.map((hook) => [hook, ordinal] as const);
    const owned = needsDropped ? { owner: nobody, verified: false } : ownership;
    await this.#addItem({ ordinal, kind: "segment", id, recipe: item.recipe, recordFrame, ...owned }, hooks);
  }

  async #addItem(item: Omit<Item, "next">, hooks: UploadUnit["hooks"]): Promise<void> {
    this.#ordinals.add(item.ordinal);
    this.#nextOrdinal = Math.max(this.#nextOrdinal, item.ordinal + 1);
    await this.#add([], [{ ...item, next: 0 }], hooks);
  }

  /** Adds rows to a batch, because each call of the catalog is a transaction. */
  async #add(frames: readonly FrameRow[], items: readonly Item[], hooks: UploadUnit["hooks"]): Promise<void> {
    for (const row of frames) this.#batch.frames.set(row.frame, row);
    for (const item of items) this.#batch.items.set(item.ordinal, item);
    this.#batch.hooks.push(...hooks);
    if (this.#batch.frames.size + this.#batch.items.size >= rowsPerBatch) await this.#flush();
  }

  async #flush(): Promise<void> {
    const { frames, items, hooks } = this.#batch;
    this.#batch = newBatch();
    await this.#register({ ...emptyUnit, frames: [...frames.values()], items: [...items.values()], hooks });
  }

  #register(unit: UploadUnit): Promise<void> {
    return this.#vault.catalog.addRebuilt({ catalogId: this.#catalogId, unit });
  }
}

/** By frame and ordinal: what repack has recorded again replaces the record before it, and a catalog takes each row once. */
function newBatch() {
  const hooks: (readonly [bigint, number])[] = [];
  return { frames: new Map<number, FrameRow>(), items: new Map<number, Item>(), hooks };
}

function frameRow(stored: StoredFrame, blockList: Uint8Array, recordFrame: number, damaged: boolean): FrameRow {
  const { frame, generation, kind, pack, offset, length, frameId, session } = stored;
  return { frame, generation, kind, pack, offset, length, frameId, session, blockList, recordFrame, damaged };
}

/** A frame that no pack has. Its row names a pack that does not exist. */
function lostFrame(frame: number, generation: number): StoredFrame {
  const noLocation = { offset: 0, length: 0, pack: "lost", session: 0 };
  return { frame, generation, kind: "data", frameId: Buffer.alloc(32), ...noLocation };
}
