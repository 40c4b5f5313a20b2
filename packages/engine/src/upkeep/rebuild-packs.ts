/** The packs that a rebuild has accepted: their tables, the versions of their frames, and the items in their metadata. */

import { CatalogError } from "../catalog/catalog.ts";
import { decodeBlockList } from "../format/block-list.ts";
import { FormatError, hex, sameBytes } from "../format/bytes.ts";
import { frameIdOf, openFrame, readFrameHeader, sessionOfFrame } from "../format/frame.ts";
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

/** A version of a frame in a pack. */
export interface StoredFrame extends PackFrame {
  readonly pack: string;
  readonly session: number;
}

/** What a version holds, as numbers of slots or items: what the snapshots need, and everything. */
export interface VersionContent {
  readonly needed: number;
  readonly filled: number;
}

/** An item of a metadata frame, with the frame, slot and pack that hold it. */
export interface StoredItem {
  readonly item: MetadataItem;
  readonly version: StoredFrame;
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

  /** The accepted versions of a frame. */
  versions(frame: number): readonly StoredFrame[] {
    return this.#versions.get(frame) ?? [];
  }

  framesWithSeveralVersions(): ReadonlySet<number> {
    return new Set([...this.#versions].filter(([, versions]) => versions.length > 1).map(([frame]) => frame));
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
      const second = table.frames.filter((frame) => this.#isSecond(table, frame));
      for (const { frame } of second) this.#refusals.add(name, `frame ${frame} a second time in its session`);
      // The catalog may have had this pack and not the other one. Without a row, prune does not delete it.
      if (second.length > 0 && second.length === table.frames.length) continue;
      this.#tables.push(table);
      for (const frame of table.frames) if (!second.includes(frame)) this.#addVersion(table, frame, name);
      onProgress({ packs: this.#tables.length });
    }
    this.#tables.sort((a, b) => a.header.session - b.header.session);
  }

  /**
   * Whether the session has written this frame before, in a pack whose name is lower. A session writes a frame once. Only a
   * lying client does it twice, so which of the two is right cannot be known. It is always the same one that is taken.
   */
  #isSecond({ header: { session } }: PackTable, { frame, generation }: PackFrame): boolean {
    return this.versions(frame).some((version) => version.generation === generation && version.session === session);
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

  /**
   * Chooses the version of each frame with the most needed content, then one that is intact, then the most content, then the
   * highest generation.
   */
  async chooseVersions(contentOf: (version: StoredFrame) => VersionContent): Promise<void> {
    for (const [frame, versions] of this.#versions) {
      const [only, ...others] = versions;
      if (only === undefined) continue;
      const found = others.length === 0 ? [] : versions.map((version) => ({ version, ...contentOf(version) }));
      const best = mostContent(await this.#intactOf(withMostNeeded(found)));
      this.#chosen.set(frame, best?.version ?? only);
    }
  }

  /** Those of several versions whose bytes give the frame id; all, if none does. Only frames with several versions are read. */
  async #intactOf<T extends { readonly version: StoredFrame }>(found: readonly T[]): Promise<readonly T[]> {
    if (found.length < 2) return found;
    const intact: T[] = [];
    for (const each of found) if (await this.#isIntact(each.version)) intact.push(each);
    return intact.length === 0 ? found : intact;
  }

  async #isIntact({ pack, offset, length, frameId, frame }: StoredFrame): Promise<boolean> {
    const { store, names } = this.#vault;
    const bytes = await this.#refusals.accept(names.pack(pack), async () => {
      const sealed = await store.get(names.pack(pack), { range: { offset, length } });
      if (!sameBytes(frameIdOf(sealed), frameId)) throw new FormatError(`frame ${frame} changed`);
      return sealed;
    });
    return bytes !== null;
  }

  /**
   * Throws `CatalogError` if a pack is gone since it was read: upkeep has deleted it. Backups would use its items, and another
   * pack that has the right version of its frames would look dead.
   */
  async assertStillStored(): Promise<void> {
    const { store, names } = this.#vault;
    const unseen = new Set(this.#tables.map(({ packId }) => hex(packId)));
    for await (const { name } of store.list(names.packs)) unseen.delete(lastPart(name));
    // A listing may lag.
    for (const pack of unseen)
      if ((await store.stat(names.pack(pack))) === null)
        throw new CatalogError("conflict", `pack ${pack} was deleted while the catalog was rebuilt: rebuild it again`);
  }

  /** Whether this version of a frame was chosen. */
  isChosen({ frame, generation, pack }: StoredFrame): boolean {
    const chosen = this.#chosen.get(frame);
    return chosen?.pack === pack && chosen.generation === generation;
  }

  /**
   * Reads the items of the metadata frames that `isWanted` accepts, in the order of frame numbers. A rewritten frame keeps
   * its number, so its records come before those that have replaced them, also if it was rewritten later.
   */
  async *metadataItems(isWanted: (version: StoredFrame) => boolean): AsyncGenerator<StoredItem> {
    const tables = new Map(this.#tables.map((table) => [hex(table.packId), table]));
    const contentKeys = new Map<string, Uint8Array | null>();
    for (const frame of [...this.#versions.keys()].sort((a, b) => a - b))
      for (const version of this.versions(frame)) {
        const table = tables.get(version.pack);
        if (version.kind !== "meta" || table === undefined || !isWanted(version)) continue;
        const contentKey = contentKeys.get(version.pack) ?? (await this.#openContentKey(version.pack, table));
        contentKeys.set(version.pack, contentKey);
        if (contentKey === null) continue;
        // Frame by frame: a damaged frame must not hide the others of its pack.
        const name = this.#vault.names.pack(version.pack);
        const items = await this.#refusals.accept(name, () => this.#readItems(table, version, contentKey));
        for (const [slot, item] of (items ?? []).entries()) yield { item, version, slot, table };
      }
  }

  #openContentKey(pack: string, { header }: PackTable): Promise<Uint8Array | null> {
    return this.#refusals.accept(this.#vault.names.pack(pack), async () => openContentKey(this.#vault.keys, header));
  }

  async #readItems(table: PackTable, version: PackFrame, contentKey: Uint8Array): Promise<readonly MetadataItem[]> {
    const { store, names } = this.#vault;
    const { offset, length, frame, generation } = version;
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

interface FoundVersion extends VersionContent {
  readonly version: StoredFrame;
}

function withMostNeeded(found: readonly FoundVersion[]): readonly FoundVersion[] {
  const most = found.reduce((needed, each) => Math.max(needed, each.needed), 0);
  return found.filter(({ needed }) => needed === most);
}

function mostContent(found: readonly FoundVersion[]): FoundVersion | null {
  return found.reduce<FoundVersion | null>((best, other) => {
    if (best === null) return other;
    const order = other.filled - best.filled || other.version.generation - best.version.generation;
    return order > 0 ? other : best;
  }, null);
}

/** Throws `FormatError` if the recipe or block list in an item cannot be decoded. Later steps do not check this again. */
function assertDecodable(item: MetadataItem): void {
  if (item.kind === "segment") decodeRecipe(item.recipe);
  else if (item.kind === "blockList") decodeBlockList(item.blockList);
}
