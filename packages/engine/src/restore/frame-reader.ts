/**
 * Reads frames of a vault: finds them in the catalog, fetches them, proves them against their id, opens them. A failure
 * names the pack and the frame. Opened metadata frames and a bounded number of data frames are kept.
 *
 * A frame may move to another pack while it is read (relaying): a missing pack counts as missing only where the frame is
 * still said to be in it.
 */

import type { Catalog, FrameRow, FrameVersion } from "../catalog/catalog.ts";
import { FormatError, hex, sameBytes } from "../format/bytes.ts";
import type { DataFrame } from "../format/data-frame.ts";
import { parseDataFrame } from "../format/data-frame.ts";
import { frameIdOf, openFrame, readFrameHeader } from "../format/frame.ts";
import { nodeId } from "../format/hash.ts";
import type { MetadataItem } from "../format/metadata-items.ts";
import { readMetadataItems } from "../format/metadata-items.ts";
import { decodeRecipe } from "../format/recipe.ts";
import { openContentKey, parseSessionHeader, sessionBinding, workerKey } from "../format/session-header.ts";
import type { Reference } from "../format/tree-entry.ts";
import type { NodeSource } from "../format/tree-reader.ts";
import { nodeKeyOf } from "../format/vault-keys.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { Vault } from "../vault.ts";

/** Stored content that is missing or wrong, and where. */
export class DamageError extends Error {
  override readonly name = "DamageError";
  readonly pack: string | null;
  readonly frame: number;
  /** The version of the frame that was met; null where the catalog has none, or where no frame is to blame. */
  readonly mark: FrameVersion | null;

  /** `at` is the frame's version, or only its number, or 0 where no frame is to blame. */
  constructor(at: FrameVersion | number, reason: string, options?: { cause?: unknown }) {
    const mark = typeof at === "number" ? null : { frame: at.frame, pack: at.pack, generation: at.generation };
    const frame = typeof at === "number" ? at : at.frame;
    const place = `${mark === null ? "no pack" : `pack ${mark.pack}`}, frame ${frame}: `;
    super(`${frame === 0 ? "" : place}${reason}`, options);
    this.pack = mark?.pack ?? null;
    this.frame = frame;
    this.mark = mark;
  }
}

/** Opened frames kept at a time. At 1–4 MiB each this is the reader's memory. */
const maxDataFrames = 8;
const maxMetaFrames = 32;

/** Session keys kept, and workers' keys derived from them: 32 bytes each. */
const maxSessionKeys = 4096;

/** How a frame is opened: the sealing worker's key and its session's binding. */
export interface FrameKey {
  readonly key: Uint8Array;
  readonly binding: Uint8Array;
}

export class FrameReader implements NodeSource {
  readonly #vault: Vault;
  readonly #catalog: Catalog;
  readonly #nodeKey: Uint8Array;
  readonly #sessions = new Map<number, { contentKey: Uint8Array; binding: Uint8Array }>();
  readonly #workers = new Map<string, FrameKey>();
  readonly #data = new Map<number, DataFrame>();
  readonly #meta = new Map<number, readonly MetadataItem[]>();

  constructor(vault: Vault) {
    this.#vault = vault;
    this.#catalog = vault.catalog;
    this.#nodeKey = nodeKeyOf(vault.keys);
  }

  async node({ ordinal, id }: Reference): Promise<Uint8Array> {
    const [item] = await this.#catalog.itemsByOrdinal([ordinal]);
    if (item === null || item === undefined || !sameBytes(item.id, id))
      throw new DamageError(0, `node ${hex(id)} is not stored`);
    const [run] = decodeRecipe(item.recipe);
    if (run?.kind !== "stored") throw new DamageError(0, `node ${hex(id)} has no place`);
    const found = (await this.metaItems(run.frame))[run.slot];
    if (found?.kind !== "node" || !sameBytes(nodeId(this.#nodeKey, found.bytes), id)) {
      throw new DamageError(await this.#row(run.frame), `node ${hex(id)} is not what its id says`);
    }
    return found.bytes;
  }

  /** The items of a metadata frame. */
  async metaItems(frame: number): Promise<readonly MetadataItem[]> {
    const known = this.#meta.get(frame);
    if (known !== undefined) return known;
    const { plain, row } = await this.#open(frame);
    const items = inPack(row, () => readMetadataItems(plain));
    keep(this.#meta, frame, items, maxMetaFrames);
    return items;
  }

  /** An opened data frame. */
  async dataFrame(frame: number): Promise<DataFrame> {
    const known = this.#data.get(frame);
    if (known !== undefined) return known;
    const { plain, row } = await this.#open(frame);
    const parsed = inPack(row, () => parseDataFrame(plain));
    keep(this.#data, frame, parsed, maxDataFrames);
    return parsed;
  }

  /** A frame's sealed bytes, proved against its id, and its place. */
  async sealed(frame: number): Promise<{ row: FrameRow; bytes: Uint8Array }> {
    for (let row = await this.#row(frame); ; ) {
      const bytes = await this.#fetch(row);
      if (bytes !== null) return { row, bytes };
      const again = await this.#row(frame);
      if (again.pack === row.pack) throw new DamageError(again, "the pack is missing");
      row = again;
    }
  }

  /**
   * The bytes of one pack from the first of these frames to the end of the last, in one request. They are not proved
   * here: whoever opens a frame proves it by its seal. Null where the pack is gone or too short; then each frame has to be
   * asked for by itself, which says what is wrong.
   */
  async span(first: FrameRow, last: FrameRow): Promise<Uint8Array | null> {
    const { store, names } = this.#vault;
    const range = { offset: first.offset, length: last.offset + last.length - first.offset };
    try {
      return await store.get(names.pack(first.pack), { range });
    } catch (error) {
      if (isObjectStoreError(error, "not_found") || isObjectStoreError(error, "range")) return null;
      throw error;
    }
  }

  /** The key that opens a sealed frame. */
  async keyFor(row: FrameRow, sealed: Uint8Array): Promise<FrameKey> {
    const header = inPack(row, () => readFrameHeader(sealed));
    if (header.frame !== row.frame || header.generation !== row.generation || header.session !== row.session) {
      throw new DamageError(row, "another frame than the catalog says");
    }
    const name = `${row.session} ${header.worker}`;
    const known = this.#workers.get(name);
    if (known !== undefined) return known;
    const session = await this.#session(row);
    const found = { key: workerKey(session.contentKey, header.worker), binding: session.binding };
    keep(this.#workers, name, found, maxSessionKeys);
    return found;
  }

  async #open(frame: number): Promise<{ plain: Buffer; row: FrameRow }> {
    const { row, bytes } = await this.sealed(frame);
    const { key, binding } = await this.keyFor(row, bytes);
    return { plain: inPack(row, () => openFrame(bytes, key, binding)), row };
  }

  async #row(frame: number): Promise<FrameRow> {
    const [row] = await this.#catalog.frames([frame]);
    if (row === null || row === undefined) throw new DamageError(frame, "the catalog does not know it");
    return row;
  }

  async #fetch(row: FrameRow): Promise<Uint8Array | null> {
    const { store, names } = this.#vault;
    try {
      const bytes = await store.get(names.pack(row.pack), { range: { offset: row.offset, length: row.length } });
      if (!sameBytes(frameIdOf(bytes), row.frameId)) throw new DamageError(row, "the bytes changed");
      return bytes;
    } catch (error) {
      if (isObjectStoreError(error, "not_found")) return null;
      if (isObjectStoreError(error, "range")) throw new DamageError(row, "the pack is too short", { cause: error });
      throw error;
    }
  }

  async #session(row: FrameRow): Promise<{ contentKey: Uint8Array; binding: Uint8Array }> {
    const known = this.#sessions.get(row.session);
    if (known !== undefined) return known;
    const stored = await this.#catalog.session(row.session);
    if (stored === null) throw new DamageError(row, "its session is unknown");
    const opened = inPack(row, () => {
      const header = parseSessionHeader(stored.header);
      return { contentKey: openContentKey(this.#vault.keys.privateSeed, header), binding: sessionBinding(header) };
    });
    keep(this.#sessions, row.session, opened, maxSessionKeys);
    return opened;
  }
}

/** Runs a reading step; what is wrong with the bytes is told with the pack that holds them. */
function inPack<T>(row: FrameRow, step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    throw new DamageError(row, error.message, { cause: error });
  }
}

function keep<K, V>(map: Map<K, V>, key: K, value: V, most: number): void {
  if (map.size >= most) {
    const [oldest] = map.keys();
    if (oldest !== undefined) map.delete(oldest);
  }
  map.set(key, value);
}
