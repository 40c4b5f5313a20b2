/**
 * An upload stores what the workers have cut. For every portion it asks the target which segments and blocks are stored,
 * allocates slots for new blocks, and writes recipes. It fills packs and registers them in *units*. An interrupted backup
 * loses at most one unit.
 *
 * Order within a unit: first the data packs are durable, then the metadata pack with their recipes and block lists, then
 * the catalog gets the rows. So after a crash there may be packs without rows, but no rows without their pack.
 *
 * Portions are decided one after the other, so a segment or block is stored once even if two workers cut it at the same
 * time. Memory: the portions in the workers, the packs in flight, the records of one unit.
 */

import type { Item } from "../catalog/catalog.ts";
import type { EngineContext } from "../context.ts";
import { hex, ownCopy } from "../format/bytes.ts";
import { frameNumber } from "../format/frame.ts";
import { blockIdLength, idLength } from "../format/hash.ts";
import { encodeRecipe, framesOf, RecipeBuilder } from "../format/recipe.ts";
import type { OpenSession } from "../format/session-header.ts";
import { sessionBinding } from "../format/session-header.ts";
import type { Signer } from "../format/signing.ts";
import type { NodeSink } from "../format/tree-builder.ts";
import type { WriterKeys } from "../format/vault-keys.ts";
import { cutterKeyOf, nodeKeyOf } from "../format/vault-keys.ts";
import type { BlockListRecord } from "../packing/catalog-rows.ts";
import { frameRows, packRows } from "../packing/catalog-rows.ts";
import { mainThreadSealer } from "../packing/frame-sealer.ts";
import { hooksOf } from "../packing/hooks.ts";
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
import type { SegmentMatch, SegmentQuery, UploadTarget } from "./upload-target.ts";

export interface UploadSettings {
  /** Size at which a pack is complete. */
  readonly packBytes: number;
  /** How many full packs may be in flight (counted in bytes), in addition to the pack that is being filled. */
  readonly packsInFlight: number;
  /** A unit is registered after this many stored bytes. An interrupted backup stores at most this much again. */
  readonly unitBytes: number;
}

export const defaultUploadSettings: UploadSettings = {
  packBytes: 16 * 1024 * 1024,
  packsInFlight: 1,
  unitBytes: 64 * 1024 * 1024,
};

/** Size at which a metadata pack is complete. */
const maxMetadataPackBytes = 4 * 1024 * 1024;

/** Ordinals reserved at a time: few enough that an aborted upload leaves no large gap in the bitmaps. */
const ordinalBatch = 256;

/** New segments that may wait to be registered. A bound for backups that store few bytes for many segments. */
const maxPendingSegments = 4096;

/** Block lists waiting to be registered; a bound for backups of very many tiny files. */
const maxPendingBlockListBytes = 2 * 1024 * 1024;

/**
 * The number of this session's tree nodes that are kept in memory by id. If a node occurs again after it was removed from
 * memory, the catalog finds it if it is registered. Otherwise it is stored twice.
 */
const maxKnownNodes = 4096;

/** Hooks of one bundle at most. */
const maxHooksPerSegment = 48;

/** Hooks of each file in a bundle. So a style sheet in an invoice is found through any other invoice that contains it. */
const hooksPerFile = 2;

/** A file of fewer blocks gets no hooks for itself. Its bundle has hooks. */
const minBlocksForOwnHooks = 4;

export interface UploadOptions {
  readonly ctx: EngineContext;
  readonly keys: WriterKeys;
  readonly signer: Signer;
  readonly owner: string;
  readonly session: OpenSession;
  /** Whether there is a base snapshot. */
  readonly hasBase: boolean;
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
  readonly #jobs: CutJobQueue;
  readonly #slots: SlotAllocator;
  readonly #metadata: MetadataWriter;
  readonly #dataPacks: PackUploader;
  readonly #metadataPacks: PackUploader;
  /** Places of the blocks that this upload stored. */
  readonly #newBlocks = new BlockTable();
  readonly #pending = new Map<string, PendingSegment>();
  readonly #nodes = new Map<string, number>();
  readonly #nodeItems: Item[] = [];
  /** Frames of this session that are not yet in a durable pack. */
  readonly #notDurable = new Set<number>();
  readonly #unregistered: DurablePack[] = [];
  readonly nodeKey: Uint8Array;
  #nextN = 1;
  #ordinal = 0;
  #ordinalEnd = 0;
  #registeredBytes = 0;
  /** Metadata goes into the data pack: the upload is so small that one pack holds everything. */
  #onePack = false;
  #decisions: Promise<void> = Promise.resolve();

  constructor(options: UploadOptions) {
    this.#options = options;
    const { session, signer, target, keys, ctx, settings, pool, hasBase } = options;
    const packs = {
      kind: "data" as const,
      header: session.header,
      signer,
      packBytes: settings.packBytes,
      packsInFlight: settings.packsInFlight,
      random: (length: number) => ctx.random(length),
      put: (name: string, body: AsyncIterable<Uint8Array>) => target.putPack(name, body),
    };
    this.nodeKey = nodeKeyOf(keys);
    this.#dataPacks = new PackUploader(packs);
    // Metadata is a thousandth of the data: small packs, and only one at a time.
    const metadataPackBytes = Math.min(settings.packBytes, maxMetadataPackBytes);
    this.#metadataPacks = new PackUploader({
      ...packs,
      kind: "metadata",
      packBytes: metadataPackBytes,
      packsInFlight: 1,
    });
    const nextN = () => this.#nextN++;
    const nextFrame = () => frameNumber(session.header.session, nextN());
    this.#slots = new SlotAllocator(nextN);
    this.#metadata = new MetadataWriter(mainThreadSealer(session), nextFrame, (frame, bytes) => {
      (this.#onePack ? this.#dataPacks : this.#metadataPacks).add("meta", frame, 0, bytes);
    });
    this.#jobs = new CutJobQueue(pool, (workerIndex, message) => this.#onMessage(workerIndex, message));
    const binding = sessionBinding(session.header);
    const common = {
      session: session.header.session,
      binding,
      blockIdKey: keys.blockIdKey,
      cutterKey: cutterKeyOf(keys),
      hasBase,
    };
    // Worker 0 is this thread, which seals the metadata.
    this.#jobs.openSession((index) => ({
      ...common,
      worker: index + 1,
      contentKey: session.contentKey,
    }));
  }

  /** Bytes in durable packs. */
  get storedBytes(): number {
    return this.#dataPacks.storedBytes + this.#metadataPacks.storedBytes;
  }

  /** Waits until a worker can take the job. `done` resolves when the job is cut and all its blocks have places. */
  async cut(plan: JobPlan): Promise<{ readonly done: Promise<CutResult> }> {
    return this.#jobs.submit(plan);
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
    await this.#metadataPacks.waitForSpace();
    const place = this.#metadata.add("nodes", { kind: "node", ordinal, id, bytes });
    const recipe = encodeRecipe([
      { kind: "stored", frame: place.frame, slot: place.slot, count: 1, bytes: bytes.length },
    ]);
    this.#nodeItems.push(this.#item(ordinal, "node", id, recipe, place.frame));
    return ordinal;
  }

  /** Seals, stores and registers everything. After this the snapshot can be completed. */
  async finish(): Promise<void> {
    await this.#decisions;
    await this.#jobs.waitForJobs();
    await this.#jobs.flush((workerIndex) => this.#slots.sealAll(workerIndex));
    const openBytes = this.#dataPacks.openBytes + this.#metadataPacks.openBytes;
    this.#onePack = this.storedBytes === 0 && openBytes < this.#options.settings.packBytes / 2;
    await this.#registerUnit(true);
  }

  /** Leaves the worker pool and abandons the packs in flight. Called after success and failure. */
  async close(): Promise<void> {
    this.#jobs.close();
    await Promise.all([this.#dataPacks.abandon(), this.#metadataPacks.abandon()]);
  }

  #onMessage(workerIndex: number, message: FromWorker): void {
    if (message.type === "sealed") {
      this.#dataPacks.add(
        "data",
        frameNumber(this.#options.session.header.session, message.n),
        0,
        message.bytes,
        message.frameId,
      );
    } else if (message.type === "portion") {
      this.#decisions = this.#decisions
        .then(() => this.#decide(workerIndex, message.portion))
        .catch((error: unknown) => this.#jobs.fail(error));
    }
  }

  /** Decides for every block of a portion where it is stored, and answers the worker. */
  async #decide(workerIndex: number, portion: Portion): Promise<void> {
    const job = this.#jobs.job(portion.job);
    const ordinals = await this.#knownSegments(portion);
    const queries = this.#queries(portion, ordinals, job.plan, job.bytes, job.previous);
    const matches = queries.length === 0 ? [] : await this.#options.target.match(queries.map(({ query }) => query));
    const plan = this.#slots.planPortion(workerIndex);
    for (const [i, { segment, query }] of queries.entries()) {
      const match = matches[i];
      if (match === undefined) throw new Error("the target returned fewer matches than queries");
      ordinals[segment] = await this.#storeSegment(portion, segment, query, match, plan, ordinals, job.previous);
    }
    await this.#dataPacks.waitForSpace();
    this.#jobs.append(workerIndex, portion, plan.appends(), ordinals);
    const { unitBytes } = this.#options.settings;
    const full = this.storedBytes - this.#registeredBytes >= unitBytes || this.#pending.size >= maxPendingSegments;
    if (full || this.#slots.blockListBytes >= maxPendingBlockListBytes) await this.#registerUnit(false);
  }

  /** The ordinal of every segment of the portion that is stored or pending; 0 for new ones. */
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
        queries.push({ segment, query: { ids, hooks, previous: before, oldSegments: plan.oldSegmentsAt(at, bytes) } });
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

  /** Finds or allocates a place for every block of a new segment. Returns the segment's ordinal. */
  async #storeSegment(
    portion: Portion,
    segment: number,
    query: SegmentQuery,
    match: SegmentMatch,
    plan: PortionPlan,
    ordinals: readonly number[],
    jobPrevious: number,
  ): Promise<number> {
    const id = segmentIdAt(portion, segment);
    const pending = this.#pending.get(hex(id));
    if (pending !== undefined) return pending.item.ordinal;
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
      else if (this.#newBlocks.find(portion.ids, block, place)) recipe.stored(place.frame, place.slot, length);
      else if (stored !== 0) recipe.stored(stored, match.slots[i] ?? 0, length);
      else {
        plan.allocate(portion.classes[block] ?? 1, portion.ids, block, length);
        if (plan.n !== n) {
          n = plan.n;
          frame = frameNumber(session, n);
          this.#notDurable.add(frame);
        }
        this.#newBlocks.set(portion.ids, block, frame, plan.slot);
        recipe.stored(frame, plan.slot, length);
      }
    }
    const ordinal = await this.#newOrdinal();
    const runs = recipe.take();
    const item = this.#item(ordinal, "segment", id, encodeRecipe(runs), 0);
    const previous = segment === 0 ? jobPrevious : (ordinals[segment - 1] ?? 0);
    this.#pending.set(hex(id), { item, frames: framesOf(runs), hooks: query.hooks, previous });
    this.#options.target.noteSimilar(ordinal, match.similar);
    return ordinal;
  }

  /** Registers a unit. With `everything`, all packs are made durable first; otherwise only what is durable is registered. */
  async #registerUnit(everything: boolean): Promise<void> {
    this.#slots.blockListBytes = 0;
    this.#addDurable(this.#dataPacks.takeDurable());
    const ready = [...this.#pending].filter(
      ([, { frames }]) => everything || !frames.some((frame) => this.#notDurable.has(frame)),
    );
    const items: Item[] = [];
    for (const [key, { item, hooks }] of ready) {
      const { ordinal, id, recipe } = item;
      const place = this.#metadata.add("records", { kind: "segment", ordinal, id, recipe, hooks });
      items.push({ ...item, recordFrame: place.frame });
      this.#pending.delete(key);
    }
    const session = this.#options.session.header.session;
    const records = new Map<number, BlockListRecord>();
    for (const [n, blockList] of this.#slots.blockLists) {
      const frame = frameNumber(session, n);
      if (!everything && this.#notDurable.has(frame)) continue;
      const place = this.#metadata.add("records", { kind: "blockList", frame, generation: 0, blockList });
      records.set(frame, { recordFrame: place.frame, blockList });
      this.#slots.blockLists.delete(n);
    }
    this.#metadata.flush("records");
    this.#metadata.flush("nodes");
    // The tree writer goes on while packs are stored. The nodes that it adds from here on belong to the next unit.
    const nodes = this.#nodeItems.splice(0);
    if (everything) await this.#dataPacks.drain();
    await this.#metadataPacks.drain();
    this.#addDurable([...this.#dataPacks.takeDurable(), ...this.#metadataPacks.takeDurable()]);
    const follows = ready
      .filter(([, { previous }]) => previous !== 0)
      .map(([, { previous, item }]) => [previous, item.ordinal] as const);
    const hooks = ready.flatMap(([, { item, hooks: own }]) => own.map((hook) => [hook, item.ordinal] as const));
    await this.#register([...items, ...nodes], records, hooks, follows);
  }

  async #register(
    items: Item[],
    records: ReadonlyMap<number, BlockListRecord>,
    hooks: (readonly [bigint, number])[],
    follows: (readonly [number, number])[],
  ): Promise<void> {
    const session = this.#options.session.header.session;
    // A data pack may have become durable after the block list records were written: it waits for the next unit.
    const waiting = this.#unregistered.filter(({ frames }) =>
      frames.some(({ kind, frame }) => kind === "data" && !records.has(frame)),
    );
    const ready = this.#unregistered.filter((pack) => !waiting.includes(pack));
    const packs = packRows(session, ready);
    const frames = frameRows(session, ready, (frame) => records.get(frame));
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

  #addDurable(packs: readonly DurablePack[]): void {
    for (const pack of packs) {
      this.#unregistered.push(pack);
      for (const { frame } of pack.frames) this.#notDurable.delete(frame);
    }
  }

  #item(ordinal: number, kind: Item["kind"], id: Uint8Array, recipe: Uint8Array, recordFrame: number): Item {
    return {
      ordinal,
      kind,
      id: ownCopy(id),
      recipe,
      recordFrame,
      next: 0,
      owner: this.#options.owner,
      verified: false,
    };
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
