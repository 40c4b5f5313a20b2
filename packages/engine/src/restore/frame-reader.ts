/**
 * Reads frames of a vault, for restore, download, verification and upkeep.
 *
 * In: the number of a frame. The reader looks up the frame's row in the catalog, fetches its sealed bytes, compares them with
 * the frame id, and opens them with the key of the session that sealed them. Out: the items of a metadata frame or the
 * blocks of a data frame. A bounded number of opened frames is cached. What is wrong or missing throws `DamageError` with
 * pack and frame.
 *
 * Repacking may move a frame to another pack while it is read. So when a pack is missing, the catalog is asked again. The
 * pack counts as missing only if the catalog still has the frame in it.
 */

import type { FrameRow, FrameVersion, Item } from "../catalog/catalog.ts";
import { FormatError, hex, ownCopy, sameBytes } from "../format/bytes.ts";
import type { DataFrame } from "../format/data-frame.ts";
import { parseDataFrame } from "../format/data-frame.ts";
import type { FrameHeader } from "../format/frame.ts";
import { frameIdOf, openFrame, readFrameHeader } from "../format/frame.ts";
import { NodeChecker } from "../format/hash.ts";
import type { MetadataItem } from "../format/metadata-items.ts";
import { readMetadataItems } from "../format/metadata-items.ts";
import { decodeRecipe } from "../format/recipe.ts";
import type { Reference } from "../format/tree-entry.ts";
import type { NodeSource } from "../format/tree-reader.ts";
import { isObjectStoreError } from "../object-store.ts";
import { LruCache } from "./lru-cache.ts";
import type { FrameKey, ReadPort } from "./read-port.ts";

/** Stored content is missing or wrong. Names the pack and the frame. */
export class DamageError extends Error {
  override readonly name = "DamageError";
  readonly pack: string | null;
  readonly frame: number;
  /** The version of the frame that was read; null if the catalog has none, or if no frame is the cause. */
  readonly version: FrameVersion | null;

  /** `at` is the version of the frame, or only its number, or 0 if no frame is the cause. */
  constructor(at: FrameVersion | number, reason: string, options?: { cause?: unknown }) {
    const version = typeof at === "number" ? null : { frame: at.frame, pack: at.pack, generation: at.generation };
    const frame = typeof at === "number" ? at : at.frame;
    const place = `${version === null ? "no pack" : `pack ${version.pack}`}, frame ${frame}: `;
    super(`${frame === 0 ? "" : place}${reason}`, options);
    this.pack = version?.pack ?? null;
    this.frame = frame;
    this.version = version;
  }
}

/** The pack of a frame is missing. Repack may have moved what the caller wanted of the frame, and prune deleted the pack. */
export class MissingPackError extends DamageError {}

/** Bytes of opened data frames in the cache: 32 of the usual size. Upkeep and verification come back to few of them. */
const dataCacheBytes = 32 * 1024 * 1024;

/** Bytes of opened metadata frames in the cache: enough for the nodes on the paths that a walk is on. */
const defaultMetaCacheBytes = 16 * 1024 * 1024;

/** Items of nodes in the cache: more than the nodes below those on a walk's path. */
const maxCachedItems = 4096;

/** Items of nodes that are looked up in one call before the nodes are read: half of the cache. */
const maxItemsAhead = maxCachedItems / 2;

/** Slots of a frame whose nodes are looked up together: a small night writes some fifty nodes. */
const slotsPerLookup = 64;

/** Sealed bytes of metadata frames that are opened ahead: opened they must fit into the cache. */
const aheadBytes = 2 * 1024 * 1024;

/** The sealed bytes that were read for a frame. */
export interface FetchedFrame {
  readonly row: FrameRow;
  readonly sealed: Uint8Array;
}

export interface FrameReaderOptions {
  /** Bytes of opened metadata frames in the cache. */
  readonly metaCacheBytes?: number | undefined;
  /** Whether the items of nodes that were read are cached: for a reader that reads the same nodes again and again. */
  readonly keepsItems?: boolean | undefined;
  /** For a reader that reads all nodes: with one that is not in the cache the items of its neighbours in the frame are looked up. */
  readonly readsAll?: boolean | undefined;
}

export class FrameReader implements NodeSource {
  readonly #port: ReadPort;
  readonly #dataFrames = new LruCache<number, DataFrame>(dataCacheBytes);
  readonly #metaFrames: LruCache<number, readonly MetadataItem[]>;
  readonly #keepsItems: boolean;
  readonly #readsAll: boolean;
  readonly #nodes: NodeChecker;
  readonly #copies = new Copies();
  /** Items of nodes that were read or will be. A node's frame and slot never change. */
  readonly #items = new LruCache<number, Item>(maxCachedItems);

  constructor(port: ReadPort, options: FrameReaderOptions = {}) {
    this.#port = port;
    this.#nodes = new NodeChecker(port.keys.nodeKey);
    this.#keepsItems = options.keepsItems ?? false;
    this.#readsAll = options.readsAll ?? false;
    this.#metaFrames = new LruCache(options.metaCacheBytes ?? defaultMetaCacheBytes);
  }

  /** Looks up the items of nodes that are read next, in one call of the port. */
  async prefetch(references: readonly Reference[]): Promise<void> {
    const ordinals = references
      .map(({ ordinal }) => ordinal)
      .filter((ordinal) => this.#items.get(ordinal) === undefined);
    if (ordinals.length < 2) return;
    for (const item of await this.#port.itemsByOrdinal(ordinals.slice(0, maxCachedItems)))
      if (item !== null) this.#items.set(item.ordinal, item, 1);
  }

  /**
   * Looks up nodes that are read soon, and opens their frames at the same time. What cannot be read is left to the reading itself,
   * which says so.
   */
  async openAhead(references: readonly Reference[]): Promise<void> {
    await this.prefetch(references);
    const frames = new Set<number>();
    for (const { ordinal } of references) {
      const frame = frameOfNode(this.#items.get(ordinal));
      if (frame !== null && this.#metaFrames.get(frame) === undefined) frames.add(frame);
    }
    let left = aheadBytes;
    const open = async (row: FrameRow | null) => {
      left -= row?.length ?? 0;
      if (row === null || left < 0) return;
      await this.#metaItems(row.frame, row).catch((error: unknown) => {
        if (!(error instanceof DamageError)) throw error;
      });
    };
    if (frames.size < 2) return;
    await Promise.all((await this.#port.frames([...frames])).map(open));
    const nodes = [...frames].flatMap((frame) => (this.#metaFrames.get(frame) ?? []).filter(isNode));
    if (this.#readsAll) await this.prefetch(nodes.slice(0, maxItemsAhead));
  }

  async node({ ordinal, id }: Reference): Promise<Uint8Array> {
    const known = this.#items.get(ordinal);
    const item = known ?? (await this.#port.itemsByOrdinal([ordinal]))[0];
    if (item === null || item === undefined || !sameBytes(item.id, id))
      throw new DamageError(0, `node ${hex(id)} is not stored`);
    if (this.#keepsItems) this.#items.set(ordinal, item, 1);
    const [run] = decodeRecipe(item.recipe);
    if (run?.kind !== "stored") throw new DamageError(0, `node ${hex(id)} has no frame`);
    const items = await this.metaItems(run.frame);
    if (this.#readsAll && known === undefined) await this.prefetch(neighbours(items, run.slot));
    const found = items[run.slot];
    if (found?.kind !== "node" || !this.#nodes.isNode(id, found.bytes)) {
      throw new DamageError(await this.#row(run.frame), `node ${hex(id)} does not match its id`);
    }
    // A rebuild finds the node by this ordinal and id.
    if (found.ordinal !== ordinal || !sameBytes(found.id, id))
      throw new DamageError(await this.#row(run.frame), `node ${hex(id)} is recorded as another one`);
    // A walk keeps the nodes on its path. A view would keep the whole frame of each of them.
    return this.#readsAll ? this.#copies.copy(found.bytes) : ownCopy(found.bytes);
  }

  /** Reads the items of a metadata frame. */
  metaItems(frame: number): Promise<readonly MetadataItem[]> {
    return this.#metaItems(frame);
  }

  async #metaItems(frame: number, found?: FrameRow): Promise<readonly MetadataItem[]> {
    const known = this.#metaFrames.get(frame);
    if (known !== undefined) return known;
    const { plain, row } = await this.#open(frame, found);
    const items = readWithLocation(row, () => readMetadataItems(plain));
    this.#metaFrames.set(frame, items, plain.length);
    return items;
  }

  /** Reads and opens a data frame. */
  async dataFrame(frame: number): Promise<DataFrame> {
    const known = this.#dataFrames.get(frame);
    if (known !== undefined) return known;
    const { plain, row } = await this.#open(frame);
    const parsed = readWithLocation(row, () => parseDataFrame(plain));
    this.#dataFrames.set(frame, parsed, plain.length);
    return parsed;
  }

  /**
   * Reads the sealed bytes of a frame, compared with the frame id, and returns them with the frame's row. `found` is the row, if
   * the caller has just looked it up.
   */
  async sealedFrame(frame: number, found?: FrameRow): Promise<{ row: FrameRow; bytes: Uint8Array }> {
    for (let row = found ?? (await this.#row(frame)); ; ) {
      const bytes = await this.#fetch(row);
      if (bytes !== null) return { row, bytes };
      const again = await this.#row(frame);
      if (again.pack === row.pack) throw new MissingPackError(again, "the pack is missing");
      row = again;
    }
  }

  /**
   * Reads one pack from the start of the first frame to the end of the last, in one request. The bytes are not checked
   * here: opening a frame checks its seal. Null if the pack is missing or too short. Then the caller reads each frame
   * alone, which finds the frame that is wrong.
   */
  async sealedRange(first: FrameRow, last: FrameRow): Promise<Uint8Array | null> {
    const range = { offset: first.offset, length: last.offset + last.length - first.offset };
    try {
      return await this.#port.readPack(first.pack, range);
    } catch (error) {
      if (isObjectStoreError(error, "not_found") || isObjectStoreError(error, "range")) return null;
      throw error;
    }
  }

  /** Returns the key that opens a sealed frame. */
  async frameKey(row: FrameRow, sealed: Uint8Array): Promise<FrameKey> {
    const [key] = await this.frameKeys([{ row, sealed }]);
    if (key === undefined || key instanceof DamageError) throw key ?? new DamageError(row, "it has no key");
    return key;
  }

  /** The keys of several sealed frames, in one call of the port. A frame that is not what its row says has none. */
  async frameKeys(frames: readonly FetchedFrame[]): Promise<readonly (FrameKey | DamageError)[]> {
    const headers = frames.map(headerOf);
    const named = headers.filter((header): header is FrameHeader => !(header instanceof DamageError));
    const keys = named.length === 0 ? [] : await this.#port.frameKeys(named);
    const keyOf = new Map(named.map((header, i) => [header, keys[i] ?? "it has no key"]));
    return frames.map(({ row }, i) => {
      const header = headers[i];
      if (header === undefined || header instanceof DamageError) return header ?? new DamageError(row, "it has no key");
      const key = keyOf.get(header) ?? "it has no key";
      return typeof key === "string" ? new DamageError(row, key) : key;
    });
  }

  async #open(frame: number, found?: FrameRow): Promise<{ plain: Buffer; row: FrameRow }> {
    const { row, bytes } = await this.sealedFrame(frame, found);
    const { key, binding } = await this.frameKey(row, bytes);
    return { plain: readWithLocation(row, () => openFrame(bytes, key, binding)), row };
  }

  async #row(frame: number): Promise<FrameRow> {
    const [row] = await this.#port.frames([frame]);
    if (row === null || row === undefined) throw new DamageError(frame, "the catalog has no such frame");
    return row;
  }

  async #fetch(row: FrameRow): Promise<Uint8Array | null> {
    try {
      const bytes = await this.#port.readPack(row.pack, { offset: row.offset, length: row.length });
      if (!sameBytes(frameIdOf(bytes), row.frameId)) throw new DamageError(row, "the bytes changed");
      return bytes;
    } catch (error) {
      if (isObjectStoreError(error, "not_found")) return null;
      if (isObjectStoreError(error, "range")) throw new DamageError(row, "the pack is too short", { cause: error });
      throw error;
    }
  }
}

/**
 * Copies of nodes, several in one piece of memory: memory of its own for each of very many nodes takes longer than reading them. Nodes
 * that are read one after the other are also kept and dropped together.
 */
class Copies {
  #memory = Buffer.alloc(0);
  #used = 0;

  copy(bytes: Uint8Array): Buffer {
    if (bytes.length > copiesBytes / 4) return ownCopy(bytes);
    if (this.#used + bytes.length > this.#memory.length) {
      this.#memory = Buffer.allocUnsafeSlow(copiesBytes);
      this.#used = 0;
    }
    const copy = this.#memory.subarray(this.#used, this.#used + bytes.length);
    copy.set(bytes);
    this.#used += bytes.length;
    return copy;
  }
}

/** Some ten nodes. A node that is kept keeps those beside it. */
const copiesBytes = 32 * 1024;

function isNode(item: MetadataItem): item is MetadataItem & { kind: "node" } {
  return item.kind === "node";
}

/** The nodes that are read soon with the one in this slot: a frame has the nodes of a tree in the order of a walk. */
function neighbours(items: readonly MetadataItem[], slot: number): (MetadataItem & { kind: "node" })[] {
  const first = slot - (slot % slotsPerLookup);
  const own = items[slot];
  return items
    .slice(first, first + slotsPerLookup)
    .filter(isNode)
    .filter((item) => item !== own);
}

/** The frame of a node; null if its item is not known, or has a wrong recipe. */
function frameOfNode(item: Item | undefined): number | null {
  if (item === undefined) return null;
  try {
    const [run] = decodeRecipe(item.recipe);
    return run?.kind === "stored" ? run.frame : null;
  } catch (error) {
    if (error instanceof FormatError) return null;
    throw error;
  }
}

/** The header of a sealed frame, if it is that of the frame's row. */
function headerOf({ row, sealed }: FetchedFrame): FrameHeader | DamageError {
  try {
    const header = readFrameHeader(sealed);
    const isSame = header.frame === row.frame && header.generation === row.generation && header.session === row.session;
    return isSame ? header : new DamageError(row, "the pack has another frame there than the catalog");
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return new DamageError(row, error.message, { cause: error });
  }
}

/** Runs `read`. Turns its `FormatError` into a `DamageError` that names the frame and its pack. */
function readWithLocation<T>(row: FrameRow, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    throw new DamageError(row, error.message, { cause: error });
  }
}
