/**
 * The service's side of `find`: walks to the paths that a client names, as the client would, and notes what it read. The client opens and compares
 * everything itself; the walk only knows earlier what it will ask for.
 *
 * A walk is bounded. Where a bound is reached, or something cannot be read, the answer has what was found until then, and the client goes on with
 * the other calls.
 */

import type { FrameRow, FrameVersion, Item } from "../catalog/catalog.ts";
import { FormatError } from "../format/bytes.ts";
import type { Recipe } from "../format/recipe.ts";
import { decodeRecipe, framesOf } from "../format/recipe.ts";
import type { FileEntry, Reference, TreeEntry } from "../format/tree-entry.ts";
import { directoryRows, findEntry } from "../format/tree-reader.ts";
import type { ByteRange } from "../object-store.ts";
import { byPlace, groupAdjacent, sealedBytesOf } from "../restore/frame-groups.ts";
import { DamageError, FrameReader } from "../restore/frame-reader.ts";
import type { FrameKey, ReadPort, SealedFrame } from "../restore/read-port.ts";
import { rootEntry } from "../restore/root-entry.ts";
import type { FindRequest, Found, FoundKey, FoundRange } from "./find-messages.ts";
import { maxFoundBytes, maxFoundFrames } from "./find-messages.ts";
import { maxItemsPerRead } from "./read-messages.ts";
import type { ReadableItems } from "./readable-items.ts";

/** Nodes that one call reads: some hundred directories. Each takes the service up to a tenth of a millisecond. */
const maxNodes = 512;

/** A bound of the walk is reached. */
class EnoughError extends Error {
  override readonly name = "EnoughError";
}

export async function findContent(from: ReadableItems, { paths, withContent }: FindRequest): Promise<Found> {
  const notes = new NotingPort(from);
  const walk = new Walk(notes);
  for (const path of paths) {
    try {
      const entry = await walk.entryAt(from.root, path);
      if (entry?.type === "directory") await walk.readDirectory(entry.root, withContent);
      if (entry?.type === "file" && withContent) await walk.readFile(entry);
    } catch (error) {
      if (error instanceof EnoughError) break;
      // The client finds damage itself, and reports it as that of the path.
      if (!(error instanceof DamageError || error instanceof FormatError)) throw error;
    }
  }
  return notes.found();
}

const slash = 0x2f;

class Walk {
  readonly #notes: NotingPort;
  readonly #reader: FrameReader;
  readonly #read = new Set<number>();
  #nodes = 0;

  constructor(notes: NotingPort) {
    this.#notes = notes;
    this.#reader = new FrameReader(notes, { keepsItems: true });
  }

  async entryAt(root: Reference, path: Uint8Array): Promise<TreeEntry | null> {
    this.#count();
    let entry: TreeEntry | null = await rootEntry(this.#reader, { rootOrdinal: root.ordinal, rootId: root.id });
    for (let start = 0; start < path.length && entry !== null; ) {
      const next = path.indexOf(slash, start);
      const end = next < 0 ? path.length : next;
      if (end > start) {
        this.#count();
        entry =
          entry.type === "directory" ? await findEntry(this.#reader, entry.root, path.subarray(start, end)) : null;
      }
      start = end + 1;
    }
    return entry;
  }

  /** Reads a directory's first node, or with `isDeep` all nodes below it, level by level. */
  async readDirectory(root: Reference, isDeep: boolean): Promise<void> {
    for (let level: readonly Reference[] = [root]; level.length > 0; ) {
      const below: Reference[] = [];
      await this.#reader.prefetch(level);
      for (const reference of level) {
        if (this.#read.has(reference.ordinal)) continue;
        this.#read.add(reference.ordinal);
        this.#count();
        const node = await this.#reader.node(reference);
        if (!isDeep) return;
        for (const row of directoryRows(node)) {
          if (row.kind === "child") below.push(row.reference);
          else if (row.entry.type === "directory") below.push(row.entry.root);
          else if (row.entry.type === "file" && row.entry.content.kind === "list")
            await this.#readList(row.entry.content.root);
        }
      }
      level = below;
    }
  }

  /** Notes the items and frames of a file's content, if all of it fits. */
  async readFile({ content }: FileEntry): Promise<void> {
    const segments = content.kind === "part" ? [content.segment] : content.kind === "segments" ? content.segments : [];
    if (content.kind === "list") await this.#readList(content.root);
    const [needed, named] = [new Set<number>(), new Set<number>()];
    for (const item of await this.#notes.itemsByOrdinal(segments.map(({ ordinal }) => ordinal))) {
      const recipe = item === null ? [] : decodeRecipe(item.recipe);
      const blocks = content.kind === "part" ? content : { first: 0, count: Number.POSITIVE_INFINITY };
      for (const frame of framesOfBlocks(recipe, blocks)) needed.add(frame);
      for (const frame of framesOf(recipe)) named.add(frame);
    }
    // The id of a segment is checked with the block lists of all its frames.
    await this.#notes.frames([...named]);
    await this.#notes.noteSealed([...needed]);
  }

  async #readList(root: Reference): Promise<void> {
    this.#count();
    await this.#reader.node(root);
  }

  #count(): void {
    if (++this.#nodes > maxNodes) throw new EnoughError("nodes");
  }
}

/** The frames of some blocks of a segment: a small file needs a few of those of its bundle. */
function* framesOfBlocks(
  recipe: Recipe,
  { first, count }: { readonly first: number; readonly count: number },
): Generator<number> {
  let at = 0;
  for (const run of recipe) {
    if (run.kind === "stored" && at < first + count && at + run.count > first) yield run.frame;
    at += run.count;
  }
}

/** A read port that notes what is read through it. It gives out what `answerRead` would. */
class NotingPort implements ReadPort {
  readonly #from: ReadableItems;
  readonly #items = new Map<number, Item>();
  /** Frames that a noted item needs. */
  readonly #needed = new Set<number>();
  readonly #frames = new Map<number, FrameRow>();
  readonly #keys = new Map<number, FoundKey>();
  readonly #ranges: FoundRange[] = [];
  #bytes = 0;

  constructor(from: ReadableItems) {
    this.#from = from;
  }

  get keys() {
    return this.#from.port.keys;
  }

  found(): Found {
    return {
      items: [...this.#items.values()],
      frames: [...this.#frames.values()],
      keys: [...this.#keys.values()],
      ranges: this.#ranges,
    };
  }

  async itemsByOrdinal(ordinals: readonly number[]): Promise<readonly (Item | null)[]> {
    const { port, reach } = this.#from;
    const asked = [...new Set(ordinals)].filter((ordinal) => reach.has(ordinal) && !this.#items.has(ordinal));
    if (this.#items.size + asked.length > maxItemsPerRead) throw new EnoughError("items");
    for (const item of asked.length === 0 ? [] : await port.itemsByOrdinal(asked)) {
      if (item === null) continue;
      this.#items.set(item.ordinal, item);
      for (const frame of framesOf(decodeRecipe(item.recipe))) this.#needed.add(frame);
    }
    return ordinals.map((ordinal) => this.#items.get(ordinal) ?? null);
  }

  async frames(frames: readonly number[]): Promise<readonly (FrameRow | null)[]> {
    const asked = frames.filter((frame) => this.#needed.has(frame) && !this.#frames.has(frame));
    if (this.#frames.size + asked.length > maxFoundFrames) throw new EnoughError("frames");
    for (const row of asked.length === 0 ? [] : await this.#from.port.frames(asked))
      if (row !== null) this.#frames.set(row.frame, row);
    return frames.map((frame) => this.#frames.get(frame) ?? null);
  }

  async frameKeys(frames: readonly SealedFrame[]): Promise<readonly (FrameKey | string)[]> {
    const keys = await this.#from.port.frameKeys(frames);
    for (const [at, { frame, generation, session }] of frames.entries()) {
      const key = keys[at];
      if (key === undefined || typeof key === "string" || !this.#needed.has(frame)) continue;
      this.#keys.set(frame, { frame, generation, session, ...key });
    }
    return keys;
  }

  async readPack(pack: string, range: ByteRange): Promise<Uint8Array> {
    if (this.#bytes + range.length > maxFoundBytes) throw new EnoughError("bytes");
    const bytes = await this.#from.port.readPack(pack, range);
    this.#bytes += bytes.length;
    this.#ranges.push({ pack, offset: range.offset, bytes });
    return bytes;
  }

  /** Notes data frames as they are stored, with their keys. They are not opened here. */
  async noteSealed(frames: readonly number[]): Promise<void> {
    const rows = (await this.frames(frames)).filter((row) => row !== null && !this.#keys.has(row.frame));
    const places = rows.flatMap((row) => (row === null ? [] : [{ row }])).sort(byPlace);
    const reader = new FrameReader(this);
    for (const group of groupAdjacent(places, () => 0)) {
      const [first, last] = [group[0]?.row, group.at(-1)?.row];
      if (first === undefined || last === undefined) continue;
      const sealed = await reader.sealedRange(first, last);
      if (sealed === null) continue;
      await reader.frameKeys(group.map(({ row }) => ({ row, sealed: sealedBytesOf(row, sealed, first.offset) })));
    }
  }

  async reportVerified(): Promise<void> {}

  async reportReadable(_versions: readonly FrameVersion[]): Promise<void> {}
}
