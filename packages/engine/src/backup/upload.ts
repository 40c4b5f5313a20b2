/**
 * An upload: the part of a backup between cut portions and durable, registered content. It decides for every segment
 * whether it is known, finds places for its blocks, hands out frames, fills packs and registers *units*.
 *
 * Order within a unit: data packs are durable → the metadata pack with their recipes and block lists is durable → the
 * catalog knows them. A crash leaves orphans, never promises. A unit is what an interrupted backup repeats at most.
 *
 * Decisions are made one portion after the other, so a segment or block is stored once even when two workers meet it at
 * the same moment. Memory: the portions that workers hold, two packs on their way, one unit of pending records.
 */

import type { FrameRow, Item, PackRow } from "../catalog/catalog.ts";
import type { EngineContext } from "../context.ts";
import { hex, ownCopy } from "../format/bytes.ts";
import { frameNumber } from "../format/frame.ts";
import { blockIdLength, idLength } from "../format/hash.ts";
import { encodeRecipe, framesOf, RecipeBuilder } from "../format/recipe.ts";
import type { OpenSession } from "../format/session-header.ts";
import { sessionBinding, workerKey } from "../format/session-header.ts";
import type { Signer } from "../format/signing.ts";
import type { NodeSink } from "../format/tree-builder.ts";
import type { WriterKeys } from "../format/vault-keys.ts";
import { cutterKeyOf, nodeKeyOf } from "../format/vault-keys.ts";
import { MetadataWriter } from "../packing/metadata-writer.ts";
import type { DurablePack } from "../packing/pack-uploader.ts";
import { PackUploader } from "../packing/pack-uploader.ts";
import type { PortionPlan } from "../packing/slot-allocator.ts";
import { SlotAllocator } from "../packing/slot-allocator.ts";
import type { CutResult, JobPlan } from "../workers/cut-job-queue.ts";
import { CutJobQueue } from "../workers/cut-job-queue.ts";
import type { FromWorker, Portion } from "../workers/cut-messages.ts";
import type { CutWorkerPool } from "../workers/cut-worker-pool.ts";
import { BlockTable } from "./block-table.ts";
import { hooksOf } from "./matcher.ts";
import type { SegmentMatch, SegmentQuery, UploadTarget } from "./upload-target.ts";

export interface UploadSettings {
  /** Size at which a pack is complete. */
  readonly packBytes: number;
  /** Packs' worth of bytes that may be on their way, beside the pack that is being filled. */
  readonly uploads: number;
  /** Stored bytes after which what is durable is registered: what an interrupted backup repeats at most. */
  readonly unitBytes: number;
}

export const defaultUploadSettings: UploadSettings = {
  packBytes: 16 * 1024 * 1024,
  uploads: 1,
  unitBytes: 64 * 1024 * 1024,
};

/** Size of a metadata pack. */
const metaPackBytes = 4 * 1024 * 1024;

/** Ordinals reserved at a time: few enough that an aborted upload leaves no large hole in the bitmaps. */
const ordinalBatch = 256;

/** New segments waiting to be registered; a bound for backups that compress extremely well. */
const maxPendingSegments = 4096;

/** Block lists waiting to be registered; a bound for backups of very many tiny files. */
const maxPendingDirectoryBytes = 2 * 1024 * 1024;

/**
 * Nodes of this session remembered by id. One that was forgotten and comes again is found in the catalog once it is
 * registered, and is stored twice at worst.
 */
const maxKnownNodes = 4096;

/** Hooks of one bundle at most: two per file of some size, deduplicated by the catalog. */
const maxHooksPerSegment = 48;

/** Hooks of each file in a bundle: a style sheet is found by any of its issuer's invoices. */
const hooksPerFile = 2;

/** Files of fewer blocks share hooks with their bundle. */
const minBlocksForOwnHooks = 4;

export interface UploadOptions {
  readonly ctx: EngineContext;
  readonly keys: WriterKeys;
  readonly signer: Signer;
  readonly owner: string;
  readonly session: OpenSession;
  /** Whether there is a base snapshot. */
  readonly increment: boolean;
  readonly target: UploadTarget;
  readonly pool: CutWorkerPool;
  readonly settings: UploadSettings;
}

interface PendingSegment {
  readonly item: Item;
  readonly frames: readonly number[];
  readonly hooks: readonly bigint[];
  readonly previous: number;
}

export class Upload implements NodeSink {
  readonly #options: UploadOptions;
  readonly #board: CutJobQueue;
  readonly #ledger: SlotAllocator;
  readonly #meta: MetadataWriter;
  readonly #data: PackUploader;
  readonly #metaLine: PackUploader;
  readonly #own = new BlockTable();
  readonly #pending = new Map<string, PendingSegment>();
  readonly #nodes = new Map<string, number>();
  readonly #nodeItems: Item[] = [];
  /** Frames of this session that are not yet in a durable pack. */
  readonly #undurable = new Set<number>();
  readonly #unregistered: DurablePack[] = [];
  readonly nodeKey: Uint8Array;
  #nextN = 1;
  #ordinal = 0;
  #ordinalEnd = 0;
  #registeredBytes = 0;
  #smallSession = false;
  #decisions: Promise<void> = Promise.resolve();

  constructor(options: UploadOptions) {
    this.#options = options;
    const { session, signer, target, keys, ctx, settings, pool, increment } = options;
    const line = {
      header: session.header,
      signer,
      packBytes: settings.packBytes,
      uploads: settings.uploads,
      random: (length: number) => ctx.random(length),
      put: (name: string, body: AsyncIterable<Uint8Array>) => target.putPack(name, body),
    };
    this.nodeKey = nodeKeyOf(keys);
    this.#data = new PackUploader(line);
    // Metadata is a thousandth of the data: small packs, and only one at a time.
    this.#metaLine = new PackUploader({ ...line, packBytes: Math.min(settings.packBytes, metaPackBytes), uploads: 1 });
    const nextN = () => this.#nextN++;
    this.#ledger = new SlotAllocator(nextN);
    this.#meta = new MetadataWriter(session, nextN, (frame, bytes) => {
      (this.#smallSession ? this.#data : this.#metaLine).add("meta", frame, 0, bytes);
    });
    this.#board = new CutJobQueue(pool, (lane, message) => this.#heard(lane, message));
    const binding = sessionBinding(session.header);
    const common = {
      session: session.header.session,
      binding,
      blockIdKey: keys.blockIdKey,
      cutterKey: cutterKeyOf(keys),
      increment,
    };
    this.#board.open((lane) => ({ ...common, worker: lane + 1, key: workerKey(session.contentKey, lane + 1) }));
  }

  /** Bytes in packs sent so far. */
  get storedBytes(): number {
    return this.#data.sentBytes + this.#metaLine.sentBytes;
  }

  /** Waits for a free place in the queue, then gives the job to a worker. The result comes when it is cut and placed. */
  async cut(plan: JobPlan): Promise<{ readonly done: Promise<CutResult> }> {
    return this.#board.submit(plan);
  }

  async putNode(id: Uint8Array, bytes: Uint8Array): Promise<number> {
    const key = hex(id);
    const known = this.#nodes.get(key);
    if (known !== undefined) return known;
    const [stored] = await this.#options.target.acquire([id]);
    const ordinal = stored ?? (await this.#newOrdinal());
    if (this.#nodes.size >= maxKnownNodes) this.#nodes.clear();
    this.#nodes.set(key, ordinal);
    if (stored !== null && stored !== undefined) return ordinal;
    await this.#metaLine.room();
    const place = this.#meta.add("nodes", { kind: "node", ordinal, id, bytes });
    const recipe = encodeRecipe([
      { kind: "stored", frame: place.frame, slot: place.slot, count: 1, bytes: bytes.length },
    ]);
    this.#nodeItems.push(this.#item(ordinal, "node", id, recipe, place.frame));
    return ordinal;
  }

  /** Seals, sends and registers everything. After this the upload can be completed. */
  async finish(): Promise<void> {
    await this.#decisions;
    await this.#board.idle();
    await this.#board.flush((lane) => this.#ledger.sealAll(lane));
    this.#smallSession =
      this.storedBytes === 0 && this.#data.openBytes + this.#metaLine.openBytes < this.#options.settings.packBytes / 2;
    await this.#registerUnit(true);
  }

  /** Releases the workers, and gives up what is still on its way; called in any case. */
  async close(): Promise<void> {
    this.#board.close();
    await Promise.all([this.#data.abandon(), this.#metaLine.abandon()]);
  }

  #heard(lane: number, message: FromWorker): void {
    if (message.type === "sealed") {
      this.#data.add(
        "data",
        frameNumber(this.#options.session.header.session, message.n),
        0,
        message.bytes,
        message.frameId,
      );
    } else if (message.type === "portion") {
      this.#decisions = this.#decisions
        .then(() => this.#decide(lane, message.portion))
        .catch((error: unknown) => this.#board.fail(error));
    }
  }

  async #decide(lane: number, portion: Portion): Promise<void> {
    const job = this.#board.job(portion.job);
    const ordinals = await this.#knownSegments(portion);
    const queries = this.#queries(portion, ordinals, job.plan, job.bytes, job.previous);
    const matches = queries.length === 0 ? [] : await this.#options.target.match(queries.map(({ query }) => query));
    const order = this.#ledger.order(lane);
    for (const [i, { segment, query }] of queries.entries()) {
      const match = matches[i];
      if (match === undefined) throw new Error("the target answered fewer segments than asked");
      ordinals[segment] = await this.#store(portion, segment, query, match, order, ordinals, job.previous);
    }
    await this.#data.room();
    this.#board.take(lane, portion, order.ops(), ordinals);
    const { unitBytes } = this.#options.settings;
    const full = this.storedBytes - this.#registeredBytes >= unitBytes || this.#pending.size >= maxPendingSegments;
    if (full || this.#ledger.blockListBytes >= maxPendingDirectoryBytes) await this.#registerUnit(false);
  }

  async #knownSegments(portion: Portion): Promise<number[]> {
    const count = portion.segments.length;
    const ids = Array.from({ length: count }, (_, i) => segmentIdAt(portion, i));
    const ordinals = ids.map((id) => this.#pending.get(hex(id))?.item.ordinal ?? 0);
    const asked = [...ids.keys()].filter((i) => ordinals[i] === 0);
    if (asked.length === 0) return ordinals;
    const answers = await this.#options.target.acquire(asked.map((i) => ids[i] ?? new Uint8Array(0)));
    for (const [k, i] of asked.entries()) ordinals[i] = answers[k] ?? 0;
    return ordinals;
  }

  #queries(portion: Portion, ordinals: readonly number[], plan: JobPlan, bytesBefore: number, previous: number) {
    const queries: { segment: number; query: SegmentQuery }[] = [];
    let block = 0;
    let at = bytesBefore;
    for (const [segment, count] of portion.segments.entries()) {
      const bytes = sumOf(portion.lengths, block, count);
      if (ordinals[segment] === 0) {
        const ids = portion.ids.subarray(block * blockIdLength, (block + count) * blockIdLength);
        const hooks = this.#hooks(portion, block, count, plan.kind === "bundle");
        const before = segment === 0 ? previous : (ordinals[segment - 1] ?? 0);
        queries.push({ segment, query: { ids, hooks, previous: before, hints: plan.hintsAt(at, bytes) } });
      }
      block += count;
      at += bytes;
    }
    return queries;
  }

  #hooks(portion: Portion, first: number, count: number, bundle: boolean): bigint[] {
    const hooks = new Set(hooksOf(portion.ids, portion.zeros, first, count));
    if (bundle) {
      let block = first;
      for (const { blocks } of portion.outcomes) {
        if (hooks.size >= maxHooksPerSegment) break;
        if (blocks >= minBlocksForOwnHooks)
          for (const hook of hooksOf(portion.ids, portion.zeros, block, blocks, hooksPerFile)) hooks.add(hook);
        block += blocks;
      }
    }
    return [...hooks];
  }

  /** Finds or makes a place for every block of a new segment. Returns the segment's ordinal. */
  async #store(
    portion: Portion,
    segment: number,
    query: SegmentQuery,
    match: SegmentMatch,
    order: PortionPlan,
    ordinals: readonly number[],
    jobPrevious: number,
  ): Promise<number> {
    const id = segmentIdAt(portion, segment);
    const twin = this.#pending.get(hex(id));
    if (twin !== undefined) return twin.item.ordinal;
    const first = sumOf(portion.segments, 0, segment);
    const recipe = new RecipeBuilder();
    const place = { frame: 0, slot: 0 };
    const session = this.#options.session.header.session;
    let n = 0;
    let frame = 0;
    for (let i = 0; i < match.frames.length; i++) {
      const block = first + i;
      const length = portion.lengths[block] ?? 0;
      const stored = match.frames[i] ?? 0;
      if (portion.zeros[block] === 1) recipe.zeros(length);
      else if (this.#own.find(portion.ids, block, place)) recipe.stored(place.frame, place.slot, length);
      else if (stored !== 0) recipe.stored(stored, match.slots[i] ?? 0, length);
      else {
        order.take(portion.classes[block] ?? 1, portion.ids, block, length);
        if (order.n !== n) {
          n = order.n;
          frame = frameNumber(session, n);
          this.#undurable.add(frame);
        }
        this.#own.set(portion.ids, block, frame, order.slot);
        recipe.stored(frame, order.slot, length);
      }
    }
    const ordinal = await this.#newOrdinal();
    const runs = recipe.take();
    const item = this.#item(ordinal, "segment", id, encodeRecipe(runs), 0);
    const previous = segment === 0 ? jobPrevious : (ordinals[segment - 1] ?? 0);
    this.#pending.set(hex(id), { item, frames: framesOf(runs), hooks: query.hooks, previous });
    this.#options.target.remember(ordinal, match.relative);
    return ordinal;
  }

  /** Registers what is durable. `everything`: nothing is left open, so all of it is made durable first. */
  async #registerUnit(everything: boolean): Promise<void> {
    this.#ledger.blockListBytes = 0;
    this.#noteDurable(this.#data.takeDurable());
    const ready = [...this.#pending].filter(
      ([, { frames }]) => everything || !frames.some((frame) => this.#undurable.has(frame)),
    );
    const items: Item[] = [];
    for (const [key, { item, hooks }] of ready) {
      const { ordinal, id, recipe } = item;
      const place = this.#meta.add("records", { kind: "segment", ordinal, id, recipe, hooks });
      items.push({ ...item, record: place.frame });
      this.#pending.delete(key);
    }
    const session = this.#options.session.header.session;
    const records = new Map<number, { record: number; blockList: Uint8Array }>();
    for (const [n, blockList] of this.#ledger.blockLists) {
      const frame = frameNumber(session, n);
      if (!everything && this.#undurable.has(frame)) continue;
      const place = this.#meta.add("records", { kind: "blockList", frame, generation: 0, blockList });
      records.set(frame, { record: place.frame, blockList });
      this.#ledger.blockLists.delete(n);
    }
    this.#meta.flush("records");
    this.#meta.flush("nodes");
    // The tree goes on while packs are on their way: what it adds from here on is in no pack yet and waits its turn.
    const nodes = this.#nodeItems.splice(0);
    if (everything) await this.#data.drain();
    await this.#metaLine.drain();
    this.#noteDurable([...this.#data.takeDurable(), ...this.#metaLine.takeDurable()]);
    const follows = ready
      .filter(([, { previous }]) => previous !== 0)
      .map(([, { previous, item }]) => [previous, item.ordinal] as const);
    const hooks = ready.flatMap(([, { item, hooks: own }]) => own.map((hook) => [hook, item.ordinal] as const));
    await this.#register([...items, ...nodes], records, hooks, follows);
  }

  async #register(
    items: Item[],
    records: ReadonlyMap<number, { record: number; blockList: Uint8Array }>,
    hooks: (readonly [bigint, number])[],
    follows: (readonly [number, number])[],
  ): Promise<void> {
    const session = this.#options.session.header.session;
    // A data pack may have become durable after its turn for a block list record was over: it waits for the next unit.
    const waiting = this.#unregistered.filter(({ frames }) =>
      frames.some(({ kind, frame }) => kind === "data" && !records.has(frame)),
    );
    const ready = this.#unregistered.filter((pack) => !waiting.includes(pack));
    const packs: PackRow[] = ready.map(({ pack, size }) => ({ pack, session, size, state: "live" }));
    const frames: FrameRow[] = ready.flatMap(({ pack, frames: places }) =>
      places.map(({ frame, generation, kind, offset, length, frameId }) => {
        const { record, blockList } = records.get(frame) ?? { record: 0, blockList: new Uint8Array(0) };
        return { frame, generation, kind, pack, offset, length, frameId, session, blockList, record, damaged: false };
      }),
    );
    this.#unregistered.splice(0, this.#unregistered.length, ...waiting);
    if (packs.length === 0 && items.length === 0) return;
    await this.#options.target.register({
      packs,
      header: this.#options.session.header.bytes,
      frames,
      items,
      hooks,
      follows,
    });
    this.#registeredBytes = this.storedBytes;
  }

  #noteDurable(packs: readonly DurablePack[]): void {
    for (const pack of packs) {
      this.#unregistered.push(pack);
      for (const { frame } of pack.frames) this.#undurable.delete(frame);
    }
  }

  #item(ordinal: number, kind: Item["kind"], id: Uint8Array, recipe: Uint8Array, record: number): Item {
    return { ordinal, kind, id: ownCopy(id), recipe, record, next: 0, owner: this.#options.owner, verified: false };
  }

  async #newOrdinal(): Promise<number> {
    if (this.#ordinal === this.#ordinalEnd) {
      this.#ordinal = await this.#options.target.reserveOrdinals(ordinalBatch);
      this.#ordinalEnd = this.#ordinal + ordinalBatch;
    }
    return this.#ordinal++;
  }
}

function segmentIdAt(portion: Portion, segment: number): Uint8Array {
  return portion.segmentIds.subarray(segment * idLength, (segment + 1) * idLength);
}

function sumOf(values: Uint32Array, first: number, count: number): number {
  let sum = 0;
  for (let i = first; i < first + count; i++) sum += values[i] ?? 0;
  return sum;
}
