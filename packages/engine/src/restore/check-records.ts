/**
 * Checks records before others use content: those of segments before they are marked as verified, and those of frames before
 * heal lets other recipes name them. A rebuild makes the catalog from records in metadata frames, which a client encrypts
 * and nobody compares with what it registers. If a record were missing or false, the snapshots of others would lose the content
 * with the catalog. So would they if the client has left a second version of a frame in the store (`settled-sessions.ts`).
 */

import type { Catalog, FrameRow, Item } from "../catalog/catalog.ts";
import { framesNeededBy, itemFrames } from "../catalog/rules.ts";
import { sameBytes } from "../format/bytes.ts";
import { sessionOfFrame } from "../format/frame.ts";
import type { MetadataItem } from "../format/metadata-items.ts";
import type { FrameReader } from "./frame-reader.ts";
import { DamageError } from "./frame-reader.ts";
import { LruCache } from "./lru-cache.ts";
import type { SettledSessions } from "./settled-sessions.ts";

/** Metadata frames whose records are kept: a segment's record and its block lists are usually in two of them. */
const maxIndexedFrames = 8;

/** Items or frames looked up in one call of the catalog. */
const itemsPerCall = 512;

type Lookup = Pick<Catalog, "itemsByOrdinal" | "frames" | "framePlaces">;

/** The records of a metadata frame, by the ordinal of the segment and by the number of the frame. */
interface IndexedRecords {
  readonly segments: ReadonlyMap<number, MetadataItem & { kind: "segment" }>;
  readonly blockLists: ReadonlyMap<number, MetadataItem & { kind: "blockList" }>;
}

export class RecordChecker {
  readonly #lookup: Lookup;
  readonly #reader: FrameReader;
  readonly #sessions: SettledSessions;
  readonly #indexed = new LruCache<number, IndexedRecords>(maxIndexedFrames);
  /** Data frames whose block list has a right record. */
  readonly #checkedFrames = new Set<number>();

  constructor(lookup: Lookup, reader: FrameReader, sessions: SettledSessions) {
    this.#lookup = lookup;
    this.#reader = reader;
    this.#sessions = sessions;
  }

  /** Returns those of the items whose records are right and whose sessions are settled. The record of a node is the node itself. */
  async withRightRecords(ordinals: readonly number[]): Promise<readonly number[]> {
    const right: number[] = [];
    for (let at = 0; at < ordinals.length; at += itemsPerCall) {
      const items = await this.#lookup.itemsByOrdinal(ordinals.slice(at, at + itemsPerCall));
      right.push(...(await this.thoseWithRightRecords(items.filter((item) => item !== null))));
    }
    return right;
  }

  /** The same for items that the caller has looked up. */
  async thoseWithRightRecords(items: readonly Item[]): Promise<readonly number[]> {
    const right: number[] = [];
    for (const item of await this.#settledItems(items))
      if (item.kind === "node" || (await passes(() => this.#isRight(item)))) right.push(item.ordinal);
    return right;
  }

  /** Returns those of the data frames whose block lists have right records and whose sessions are settled. */
  async withRightBlockLists(frames: readonly number[]): Promise<ReadonlySet<number>> {
    const right = new Set<number>();
    for (let at = 0; at < frames.length; at += itemsPerCall) {
      const settled = await this.#settledFrames(frames.slice(at, at + itemsPerCall));
      for (const row of await this.#lookup.frames([...settled]))
        if (row !== null && (await passes(() => this.#hasRightBlockList(row)))) right.add(row.frame);
    }
    return right;
  }

  /** Those of the items whose frames and records are of settled sessions only. */
  async #settledItems(items: readonly Item[]): Promise<readonly Item[]> {
    const needed = items.map(framesNeededBy);
    const settled = await this.#settledFrames([...new Set(needed.flat())]);
    return items.filter((_, i) => needed[i]?.every((frame) => settled.has(frame)) === true);
  }

  /** Those of the frames that settled sessions have written and recorded. */
  async #settledFrames(frames: readonly number[]): Promise<ReadonlySet<number>> {
    const places = await this.#lookup.framePlaces(frames);
    const sessions = new Map(
      frames.map((frame, i) => [frame, [frame, places[i]?.recordFrame ?? 0].filter(Boolean).map(sessionOfFrame)]),
    );
    await this.#sessions.look(new Set([...sessions.values()].flat()));
    const isSettled = (frame: number) => sessions.get(frame)?.every((each) => this.#sessions.isSettled(each)) === true;
    return new Set(frames.filter(isSettled));
  }

  async #isRight(item: Item): Promise<boolean> {
    const record = (await this.#records(item.recordFrame)).segments.get(item.ordinal);
    if (record === undefined || !sameBytes(record.id, item.id) || !sameBytes(record.recipe, item.recipe)) return false;
    const unchecked = itemFrames(item).filter((frame) => !this.#checkedFrames.has(frame));
    for (const row of await this.#lookup.frames(unchecked))
      if (row === null || !(await this.#hasRightBlockList(row))) return false;
    return true;
  }

  /** A frame without a record is fine: a rebuild reads the block list in the frame itself. */
  async #hasRightBlockList({ frame, generation, recordFrame, blockList }: FrameRow): Promise<boolean> {
    if (recordFrame !== 0) {
      const record = (await this.#records(recordFrame)).blockLists.get(frame);
      if (record?.generation !== generation || !sameBytes(record.blockList, blockList)) return false;
    }
    this.#checkedFrames.add(frame);
    return true;
  }

  async #records(frame: number): Promise<IndexedRecords> {
    const known = this.#indexed.get(frame);
    if (known !== undefined) return known;
    const segments = new Map<number, MetadataItem & { kind: "segment" }>();
    const blockLists = new Map<number, MetadataItem & { kind: "blockList" }>();
    for (const item of await this.#reader.metaItems(frame)) {
      // The first record counts, as in a rebuild.
      if (item.kind === "segment" && !segments.has(item.ordinal)) segments.set(item.ordinal, item);
      if (item.kind === "blockList" && !blockLists.has(item.frame)) blockLists.set(item.frame, item);
    }
    const records = { segments, blockLists };
    this.#indexed.set(frame, records, 1);
    return records;
  }
}

/** The result of a check; false if it reads something that is damaged. */
async function passes(check: () => Promise<boolean>): Promise<boolean> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof DamageError) return false;
    throw error;
  }
}
