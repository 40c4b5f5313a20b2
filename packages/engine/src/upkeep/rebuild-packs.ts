/** The packs that a rebuild has accepted: their tables, the versions of their frames, and the items in their metadata. */

import { decodeBlockList } from "../format/block-list.ts";
import { FormatError, hex, sameBytes } from "../format/bytes.ts";
import { openFrame, readFrameHeader } from "../format/frame.ts";
import type { MetadataItem } from "../format/metadata-items.ts";
import { readMetadataItems } from "../format/metadata-items.ts";
import { lastPart } from "../format/object-names.ts";
import type { PackFrame, PackTable } from "../format/pack.ts";
import { readPackTable } from "../format/pack.ts";
import { decodeRecipe } from "../format/recipe.ts";
import { frameKey, openContentKey, sessionBinding } from "../format/session-header.ts";
import { signerId } from "../format/signing.ts";
import type { ReadableVault } from "../vault.ts";
import { identityOf } from "../vault.ts";
import type { Refusals } from "./rebuild-refusals.ts";
import type { KnownSessions } from "./rebuild-sessions.ts";
import { sessionOfFrame } from "./rebuild-sessions.ts";

/** A version of a frame in a pack. */
export interface StoredFrame extends PackFrame {
  readonly pack: string;
  readonly session: number;
}

/** An item of a metadata frame, with the frame, slot and pack that hold it. */
export interface StoredItem {
  readonly item: MetadataItem;
  readonly frame: number;
  readonly slot: number;
  readonly table: PackTable;
}

export class StoredPacks {
  readonly #vault: ReadableVault;
  readonly #sessions: KnownSessions;
  readonly #refusals: Refusals;
  readonly #tables: PackTable[] = [];
  readonly #versions = new Map<number, StoredFrame[]>();
  readonly #chosen = new Map<number, StoredFrame>();

  constructor(vault: ReadableVault, sessions: KnownSessions, refusals: Refusals) {
    this.#vault = vault;
    this.#sessions = sessions;
    this.#refusals = refusals;
  }

  /** The tables of all accepted packs, in the order of sessions. */
  get tables(): readonly PackTable[] {
    return this.#tables;
  }

  /** The chosen version of every frame, by frame number. */
  get chosen(): ReadonlyMap<number, StoredFrame> {
    return this.#chosen;
  }

  hasFrame(frame: number): boolean {
    return this.#versions.has(frame);
  }

  isOfAuthority({ header }: PackTable): boolean {
    return sameBytes(header.writerId, signerId(this.#vault.keys.authorityPublicKey));
  }

  /** Reads header and footer of every pack. */
  async readTables(
    revoked: ReadonlyMap<string, number>,
    onProgress: (progress: { packs: number }) => void,
  ): Promise<void> {
    const { store, names } = this.#vault;
    for await (const { name, size } of store.list(names.packs)) {
      const read = (offset: number, length: number) => store.get(name, { range: { offset, length } });
      const table = await this.#refusals.accept(name, async () => {
        const found = await readPackTable(lastPart(name), size, read, identityOf(this.#vault));
        this.#sessions.assertNotRevoked(found.header, revoked);
        await this.#sessions.assertClaimed(found.header);
        return found;
      });
      if (table === null) continue;
      if (!this.#sessions.isSameSession(table.header)) {
        const reason = `a second session ${table.header.session}: a catalog was replaced without a rebuild`;
        this.#refusals.add(name, reason);
        continue;
      }
      this.#sessions.add(table.header);
      this.#tables.push(table);
      for (const frame of table.frames) this.#addVersion(table, frame, name);
      onProgress({ packs: this.#tables.length });
    }
    this.#tables.sort((a, b) => a.header.session - b.header.session);
  }

  /** Adds a version of a frame. A writer may add new frames of its session; the authority may also rewrite frames. */
  #addVersion(table: PackTable, frame: PackFrame, name: string): void {
    const { session } = table.header;
    const isNew = frame.generation === 0 && sessionOfFrame(frame.frame) === session;
    if (!isNew && !this.isOfAuthority(table)) {
      this.#refusals.add(name, `frame ${frame.frame} of another session, from a writer that may not rewrite`);
      return;
    }
    const versions = this.#versions.get(frame.frame) ?? [];
    if (versions.length === 0) this.#versions.set(frame.frame, versions);
    versions.push({ ...frame, pack: hex(table.packId), session });
  }

  /** Chooses the version of each frame with the most filled slots, then with the highest generation. */
  chooseVersions(filledSlots: (frame: StoredFrame) => number): void {
    for (const [frame, versions] of this.#versions) {
      const [best] = versions.sort((a, b) => filledSlots(b) - filledSlots(a) || b.generation - a.generation);
      if (best !== undefined) this.#chosen.set(frame, best);
    }
  }

  /** Whether this version of a frame was chosen. */
  isChosen({ frame, generation }: PackFrame, pack: string): boolean {
    const chosen = this.#chosen.get(frame);
    return chosen?.pack === pack && chosen.generation === generation;
  }

  /** Reads the items of the metadata frames that `isWanted` accepts, in the order of sessions. */
  async *metadataItems(isWanted: (frame: PackFrame, pack: string) => boolean): AsyncGenerator<StoredItem> {
    const { names, keys } = this.#vault;
    for (const table of this.#tables) {
      const pack = hex(table.packId);
      const frames = table.frames.filter((frame) => frame.kind === "meta" && isWanted(frame, pack));
      if (frames.length === 0) continue;
      const contentKey = await this.#refusals.accept(names.pack(pack), async () => openContentKey(keys, table.header));
      if (contentKey === null) continue;
      // Frame by frame: a damaged frame must not hide the others of its pack.
      for (const frame of frames) {
        const items = await this.#refusals.accept(names.pack(pack), () => this.#readItems(table, frame, contentKey));
        for (const [slot, item] of (items ?? []).entries()) yield { item, frame: frame.frame, slot, table };
      }
    }
  }

  async #readItems(table: PackTable, place: PackFrame, contentKey: Uint8Array): Promise<readonly MetadataItem[]> {
    const { store, names } = this.#vault;
    const { offset, length, frame, generation } = place;
    const sealed = await store.get(names.pack(hex(table.packId)), { range: { offset, length } });
    const header = readFrameHeader(sealed);
    if (header.frame !== frame || header.generation !== generation)
      throw new FormatError("a frame is not the one in the footer of its pack");
    const key = frameKey(contentKey, header);
    const items = readMetadataItems(openFrame(sealed, key, sessionBinding(table.header)));
    for (const item of items) assertDecodable(item);
    return items;
  }
}

/** Throws `FormatError` if the recipe or block list in an item cannot be decoded. Later steps do not check this again. */
function assertDecodable(item: MetadataItem): void {
  if (item.kind === "segment") decodeRecipe(item.recipe);
  else if (item.kind === "blockList") decodeBlockList(item.blockList);
}
