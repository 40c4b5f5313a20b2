/**
 * Reads files of a snapshot, or ranges of them, as streams: for downloads and archives.
 *
 * In: a file's tree entry and a range. Out: its bytes in order. The reader works in *batches*. For each batch it resolves
 * some segments of the range, fetches their frames (adjacent ones in one request), and has the worker pool open them. It
 * does this while the caller reads the batch before. The cache of opened frames is limited by their bytes. A file that was
 * backed up daily has its blocks in frames of many backups. Within the frames of one backup the blocks are in file order,
 * so a few megabytes of cache per backup are enough to read each frame once.
 *
 * Blocks that are not verified are hashed and compared with their ids, as restore does. `DamageError` is thrown before a
 * wrong byte is returned.
 */

import type { FrameRow } from "../catalog/catalog.ts";
import { sameBytes } from "../format/bytes.ts";
import { blockIdLength, FileHash, fileHash, segmentId } from "../format/hash.ts";
import type { FileEntry } from "../format/tree-entry.ts";
import type { PlacedSegment } from "../format/tree-reader.ts";
import { segmentsInRange, segmentsOf } from "../format/tree-reader.ts";
import type { ByteRange } from "../object-store.ts";
import type { OpenedFrame } from "../workers/open-frames.ts";
import type { RestoreWorkerPool } from "../workers/restore-worker-pool.ts";
import { byPlace, groupAdjacent, sealedBytesOf } from "./frame-groups.ts";
import type { FetchedFrame } from "./frame-reader.ts";
import { DamageError, FrameReader, MissingPackError } from "./frame-reader.ts";
import { LruCache } from "./lru-cache.ts";
import type { ReadPort } from "./read-port.ts";
import type { SegmentBlocks } from "./resolve-segments.ts";
import { loadItems, SegmentResolver } from "./resolve-segments.ts";

/** Bytes of opened frames in the cache: a megabyte for each of 30 daily backups, and as much for the batches in flight. */
const defaultCacheBytes = 64 * 1024 * 1024;

/** Segments resolved at a time: about 16 MiB of the file. The first batch is one segment, so the first byte comes soon. */
const segmentsPerBatch = 16;

/** Plain bytes of the frames of one batch. Two batches are in memory: one being returned, one being fetched. */
const defaultBatchBytes = 32 * 1024 * 1024;

/** Requests at a time of one reader: enough to hide the delay of an object store. */
const maxRequests = 8;

/** Resolved bundles that are kept, some ten KiB each. Small files that are neighbours are in the same bundle. */
const maxBundles = 8;

export interface FileReaderOptions {
  readonly port: ReadPort;
  readonly pool: RestoreWorkerPool;
  /** Bytes of opened frames that are kept. */
  readonly cacheBytes?: number | undefined;
  /** Plain bytes of the frames of one batch. Less needs less memory and hides less of the store's delay. */
  readonly batchBytes?: number | undefined;
  /** Bytes of opened metadata frames that are kept. */
  readonly metaCacheBytes?: number | undefined;
  /** Whether blocks are hashed and compared also where they were verified before. */
  readonly hashesAll?: boolean | undefined;
}

/** A run of blocks that are consecutive in the file and in their frame. */
interface PlannedRun {
  /** Null for zeros, which are not stored. */
  readonly frame: NeededFrame | null;
  readonly slot: number;
  readonly count: number;
  readonly start: number;
  readonly bytes: number;
}

interface NeededFrame {
  readonly row: FrameRow;
  readonly ids: Uint8Array;
  readonly lengths: Uint32Array;
  readonly bytes: number;
  /** Whether a segment needs it that is not verified. */
  readonly hashBlocks: boolean;
}

interface CachedFrame {
  readonly frame: OpenedFrame;
  readonly row: FrameRow;
}

interface RequestedRun extends PlannedRun {
  readonly opened: Promise<CachedFrame> | null;
}

export class FileReader {
  readonly #port: ReadPort;
  readonly #pool: RestoreWorkerPool;
  readonly #cache: LruCache<string, Promise<CachedFrame>>;
  readonly #batchBytes: number;
  readonly #hashesAll: boolean;
  readonly #requests = new Set<Promise<void>>();
  /** By the ordinal of the bundle's segment. */
  readonly #bundles = new LruCache<number, Promise<SegmentResolver>>(maxBundles);
  /** Reads the nodes of trees, and single frames that were moved to another pack. */
  readonly frames: FrameReader;

  constructor({ port, pool, cacheBytes, batchBytes, metaCacheBytes, hashesAll = false }: FileReaderOptions) {
    this.#hashesAll = hashesAll;
    this.#batchBytes = batchBytes ?? defaultBatchBytes;
    this.#port = port;
    this.#pool = pool;
    this.#cache = new LruCache(cacheBytes ?? defaultCacheBytes);
    this.frames = new FrameReader(port, { metaCacheBytes, keepsItems: true });
  }

  /**
   * The bytes of a file in a range; as many as the file has there. The caller must not change a chunk: it is a view of the
   * cache.
   */
  async *read(entry: FileEntry, range?: ByteRange, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    const from = Math.min(range?.offset ?? 0, entry.size);
    const to = Math.min(entry.size, from + (range?.length ?? entry.size));
    if (from === to) return;
    this.#pool.startThreadsFor(to - from);
    let at = from;
    // Repack may have moved blocks, and prune deleted their old frames, since the batch was resolved. So what is no longer as
    // the catalog has it is resolved a second time. Only what fails again at the same place is damaged.
    for (let failedAt = -1; at < to; )
      try {
        for await (const piece of this.#readRange(entry, at, to, signal)) {
          at += piece.length;
          yield piece;
        }
      } catch (error) {
        if (entry.content.kind === "part") this.#bundles.delete(entry.content.segment.ordinal);
        if (!(error instanceof DamageError) || failedAt === at || (await this.#isCurrent(error))) throw error;
        failedAt = at;
      }
  }

  /** Whether the frame is damaged where the catalog has it, so that planning again is in vain. */
  async #isCurrent(error: DamageError): Promise<boolean> {
    const { version } = error;
    if (version === null || error instanceof MissingPackError) return false;
    const [row] = await this.#port.frames([version.frame]);
    return row?.pack === version.pack && row.generation === version.generation;
  }

  async *#readRange(entry: FileEntry, from: number, to: number, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    const batches = this.#batches(entry, from, to);
    const request = async () => {
      const { value } = await batches.next();
      return value === undefined ? null : this.#request(value);
    };
    let upcoming = request();
    for (;;) {
      signal?.throwIfAborted();
      const batch = await upcoming;
      if (batch === null) return;
      upcoming = request();
      // It is awaited in the next iteration. Without this handler, Node would report an unhandled rejection until then.
      upcoming.catch(() => undefined);
      for (const run of batch) {
        signal?.throwIfAborted();
        yield* bytesOfRun(run, run.opened === null ? null : await run.opened, from, to);
      }
    }
  }

  /** The runs of the range, batch by batch. */
  async *#batches(entry: FileEntry, from: number, to: number): AsyncGenerator<PlannedRun[]> {
    if (entry.content.kind === "part") {
      const { segment, first, count } = entry.content;
      const resolver = await this.#bundle(segment.ordinal);
      const blocks = resolved(resolver.resolve(segment));
      checkPart(entry, blocks, first, count);
      const hashBlocks = this.#hashesBlocks(resolver, segment.ordinal);
      yield* inBatches(runsOf(resolver, hashBlocks, blocks, first, first + count, 0, from, to), this.#batchBytes);
      return;
    }
    let batch: PlacedSegment[] = [];
    let most = 1;
    for await (const segment of this.#segments(entry, from, to)) {
      batch.push(segment);
      if (batch.length < most) continue;
      yield* this.#resolveBatch(batch, from, to);
      batch = [];
      most = segmentsPerBatch;
    }
    if (batch.length > 0) yield* this.#resolveBatch(batch, from, to);
  }

  async *#resolveBatch(batch: readonly PlacedSegment[], from: number, to: number): AsyncGenerator<PlannedRun[]> {
    const resolver = await this.#resolver(batch.map(({ segment }) => segment.ordinal));
    const runs: PlannedRun[] = [];
    for (const { segment, start } of batch) {
      const blocks = resolved(resolver.resolve(segment));
      const hashBlocks = this.#hashesBlocks(resolver, segment.ordinal);
      runs.push(...runsOf(resolver, hashBlocks, blocks, 0, blocks.lengths.length, start, from, to));
    }
    yield* inBatches(runs, this.#batchBytes);
  }

  #hashesBlocks(resolver: SegmentResolver, ordinal: number): boolean {
    return this.#hashesAll || !resolver.isVerified(ordinal);
  }

  /** Resolves a bundle once for the small files in it that are read one after the other. */
  #bundle(ordinal: number): Promise<SegmentResolver> {
    const known = this.#bundles.get(ordinal);
    if (known !== undefined) return known;
    const loading = this.#resolver([ordinal]);
    this.#bundles.set(ordinal, loading, 1);
    return loading;
  }

  async #resolver(ordinals: readonly number[]): Promise<SegmentResolver> {
    const items = await loadItems(this.#port, new Set(ordinals));
    return SegmentResolver.load(this.#port, this.#port.keys.blockIdKey, items);
  }

  /**
   * The segments of the range. If the segment list of the file is in one node, or if the whole file is read, all ids are
   * compared with the file hash first. Of a longer list only the nodes of the range are read; each is checked against its id.
   */
  async *#segments(entry: FileEntry, from: number, to: number): AsyncGenerator<PlacedSegment> {
    const { content, size, hash } = entry;
    if (content.kind !== "list" || content.depth === 0 || (from === 0 && to === size)) {
      const fileDigest = new FileHash(size);
      for await (const { id } of segmentsOf(this.frames, content)) fileDigest.add(id);
      if (!sameBytes(fileDigest.finish(), hash)) throw new DamageError(0, "a file's segments do not match its hash");
    }
    yield* segmentsInRange(this.frames, content, from, to);
  }

  /** Starts to fetch and open the frames of a batch that are not in the cache. */
  #request(batch: readonly PlannedRun[]): RequestedRun[] {
    const missing = new Map<
      string,
      { readonly frame: NeededFrame; readonly result: PromiseWithResolvers<CachedFrame> }
    >();
    const requested = batch.map((run): RequestedRun => {
      if (run.frame === null) return { ...run, opened: null };
      const key = cacheKey(run.frame);
      // The cache may have dropped a frame that this batch has just asked for.
      const known = missing.get(key)?.result.promise ?? this.#cache.get(key);
      if (known !== undefined) return { ...run, opened: known };
      const result = Promise.withResolvers<CachedFrame>();
      // The run awaits it later.
      result.promise.catch(() => this.#cache.delete(key));
      this.#cache.set(key, result.promise, run.frame.bytes);
      missing.set(key, { frame: run.frame, result });
      return { ...run, opened: result.promise };
    });
    const wanted = [...missing.values()].map(({ frame, result }) => ({ ...frame, result })).sort(byPlace);
    void this.#fetchGroups([...groupAdjacent(wanted, ({ bytes }) => bytes)]);
    return requested;
  }

  async #fetchGroups(groups: readonly WantedFrame[][]): Promise<void> {
    for (const group of groups) {
      while (this.#requests.size >= maxRequests) await Promise.race(this.#requests);
      const work = this.#fetchGroup(group)
        .catch((error: unknown) => {
          for (const { result } of group) result.reject(error);
        })
        .finally(() => this.#requests.delete(work));
      this.#requests.add(work);
    }
  }

  async #fetchGroup(group: readonly WantedFrame[]): Promise<void> {
    const [first, last] = [group[0], group.at(-1)];
    if (first === undefined || last === undefined) return;
    const sealed = await this.frames.sealedRange(first.row, last.row);
    if (sealed !== null) return this.#open(group, sealed, first.row.offset);
    // The pack is missing or too short. Each frame is read alone: it may have moved, and the damaged one is found.
    for (const wanted of group) {
      try {
        const { row, bytes } = await this.frames.sealedFrame(wanted.row.frame);
        await this.#open([{ ...wanted, row }], bytes, row.offset);
      } catch (error) {
        wanted.result.reject(error);
      }
    }
  }

  /** Gives frames to a worker. `sealed` holds their bytes; `base` is the offset of `sealed` in the pack. */
  async #open(group: readonly WantedFrame[], sealed: Uint8Array, base: number): Promise<void> {
    const fetched: FetchedFrame[] = group.map(({ row }) => ({ row, sealed: sealedBytesOf(row, sealed, base) }));
    const keys = await this.frames.frameKeys(fetched);
    const toOpen = group.flatMap((wanted, i) => {
      const key = keys[i];
      if (key === undefined || key instanceof DamageError) {
        wanted.result.reject(key ?? new DamageError(wanted.row, "it has no key"));
        return [];
      }
      const { row, ids, lengths, hashBlocks } = wanted;
      return [{ wanted, frame: { offset: row.offset - base, length: row.length, ...key, ids, lengths, hashBlocks } }];
    });
    if (toOpen.length === 0) return;
    const { blockIdKey } = this.#port.keys;
    const { frames } = await this.#pool.open({ sealed, blockIdKey, frames: toOpen.map(({ frame }) => frame) });
    for (const [i, { wanted }] of toOpen.entries()) {
      const frame = frames[i] ?? "it was not opened";
      if (typeof frame === "string") wanted.result.reject(new DamageError(wanted.row, frame));
      else wanted.result.resolve({ frame, row: wanted.row });
    }
  }
}

type WantedFrame = NeededFrame & { readonly result: PromiseWithResolvers<CachedFrame> };

/** A frame that was opened without hashing is opened again if its blocks must be hashed. */
function cacheKey({ row, hashBlocks }: NeededFrame): string {
  return `${row.frame} ${row.generation} ${hashBlocks}`;
}

function resolved(blocks: SegmentBlocks | string): SegmentBlocks {
  if (typeof blocks === "string") throw new DamageError(0, blocks);
  return blocks;
}

/** Checks that the blocks of a small file in a bundle give its hash. */
function checkPart({ size, hash }: FileEntry, { ids, lengths }: SegmentBlocks, first: number, count: number): void {
  const own = ids.subarray(first * blockIdLength, (first + count) * blockIdLength);
  const isWhole = first + count <= lengths.length;
  if (!isWhole || !sameBytes(fileHash(size, [segmentId(own, lengths.slice(first, first + count))]), hash))
    throw new DamageError(0, "a file's blocks do not match its hash");
}

/** The runs of blocks `first` to `end` of a segment that are in the range. Block `first` is at `start` of the file. */
function runsOf(
  resolver: SegmentResolver,
  hashBlocks: boolean,
  segment: SegmentBlocks,
  first: number,
  end: number,
  start: number,
  from: number,
  to: number,
): PlannedRun[] {
  const runs: PlannedRun[] = [];
  let offset = start;
  let at = 0;
  for (const run of segment.runs) {
    const [begin, stop] = [Math.max(first, at), Math.min(end, at + run.count)];
    let bytes = 0;
    for (let i = begin; i < stop; i++) bytes += segment.lengths[i] ?? 0;
    if (begin < stop && offset < to && offset + bytes > from) {
      const frame = run.frame === 0 ? null : neededFrame(resolver, run.frame, hashBlocks);
      runs.push({ frame, slot: run.slot + begin - at, count: stop - begin, start: offset, bytes });
    }
    if (begin < stop) offset += bytes;
    at += run.count;
  }
  return runs;
}

function neededFrame(resolver: SegmentResolver, frame: number, hashBlocks: boolean): NeededFrame {
  const loaded = resolver.frames.get(frame);
  if (loaded === undefined) throw new DamageError(frame, "the catalog has no such frame");
  const { row, blockList } = loaded;
  const bytes = blockList.lengths.reduce((sum, length) => sum + length, 0);
  return { row, ids: blockList.ids, lengths: blockList.lengths, bytes, hashBlocks };
}

/** Divides runs so that the frames of each batch have a bounded size. */
function* inBatches(runs: readonly PlannedRun[], maxBatchBytes: number): Generator<PlannedRun[]> {
  let batch: PlannedRun[] = [];
  let frames = new Set<number>();
  let bytes = 0;
  for (const run of runs) {
    const added = run.frame === null || frames.has(run.frame.row.frame) ? 0 : run.frame.bytes;
    if (batch.length > 0 && bytes + added > maxBatchBytes) {
      yield batch;
      batch = [];
      frames = new Set();
      bytes = 0;
    }
    batch.push(run);
    bytes += added;
    if (run.frame !== null) frames.add(run.frame.row.frame);
  }
  if (batch.length > 0) yield batch;
}

/** Zeros returned in one chunk: a hole of terabytes must not be allocated at once. */
const maxZeroBytes = 1024 * 1024;

/** The bytes of a run that are in the range. */
function* bytesOfRun(run: PlannedRun, opened: CachedFrame | null, from: number, to: number): Generator<Uint8Array> {
  const skip = Math.max(0, from - run.start);
  const length = Math.min(run.bytes, to - run.start) - skip;
  if (opened === null) {
    for (let left = length; left > 0; left -= maxZeroBytes) yield new Uint8Array(Math.min(left, maxZeroBytes));
    return;
  }
  const { frame, row } = opened;
  const at = frame.starts[run.slot] ?? 0;
  const bad = frame.badSlots.find((slot) => slot >= run.slot && slot < run.slot + run.count);
  if (bad !== undefined) throw new DamageError(row, `slot ${bad} does not match its id`);
  if ((frame.starts[run.slot + run.count] ?? -1) - at !== run.bytes)
    throw new DamageError(row, `the blocks from slot ${run.slot} on have another length than the catalog says`);
  yield frame.blocks.subarray(at + skip, at + skip + length);
}
