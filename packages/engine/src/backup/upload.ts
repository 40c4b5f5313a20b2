/**
 * An upload stores what the workers have cut. For every portion it asks the target which segments and blocks are stored,
 * allocates slots for new blocks, and writes recipes. It fills packs and registers them in *units*. What an interrupted backup
 * has sent and not registered is sent again (`unregistered-packs.ts`). So that no segment waits long for its last blocks, all open frames are
 * sealed once per unit.
 *
 * Order within a unit: first the data packs are durable, then the metadata pack with their recipes and block lists, then
 * the catalog gets the rows. So after a crash there may be packs without rows, but no rows without their pack.
 *
 * The upload *decides* a portion: it says for each block where it is stored. Portions are decided one after the other, in
 * the order in which they came. So a segment or block is stored once even if two workers cut it at the same time. Queries
 * about several portions are in flight at the same time (`segment-queries.ts`), and a unit is registered while further
 * portions are decided. Memory: the portions in the workers, the packs in flight, the records of two units.
 */

import type { OrdinalRange } from "../catalog/catalog.ts";
import type { EngineContext } from "../context.ts";
import { hex, ownCopy } from "../format/bytes.ts";
import { frameNumber } from "../format/frame.ts";
import { encodeRecipe, framesOf, type Recipe, RecipeBuilder } from "../format/recipe.ts";
import { type OpenSession, sessionBinding } from "../format/session-header.ts";
import type { Signer } from "../format/signing.ts";
import type { NodeSink } from "../format/tree-builder.ts";
import type { Reference } from "../format/tree-entry.ts";
import { cutterKeyOf, nodeKeyOf, type WriterKeys } from "../format/vault-keys.ts";
import { joinedCalls, usualCalls } from "../joined-calls.ts";
import { mainThreadSealer } from "../packing/frame-sealer.ts";
import { MetadataWriter } from "../packing/metadata-writer.ts";
import { type DurablePack, PackUploader } from "../packing/pack-uploader.ts";
import { type PortionPlan, SlotAllocator } from "../packing/slot-allocator.ts";
import { SmallPacks } from "../packing/small-packs.ts";
import { UnregisteredPacks } from "../packing/unregistered-packs.ts";
import type { StoredBlocks } from "../source/stored-file.ts";
import { CutJobQueue, type CutResult, type JobPlan } from "../workers/cut-job-queue.ts";
import type { FromWorker, Portion } from "../workers/cut-messages.ts";
import type { CutWorkerPool } from "../workers/cut-worker-pool.ts";
import { BlockTable } from "./block-table.ts";
import { joinedSegment } from "./joined-segment.ts";
import { NodeQueries } from "./node-queries.ts";
import { OrdinalReserve } from "./ordinal-reserve.ts";
import { linksOf, type PendingSegment, type PreparedUnit, tornBytes } from "./pending-unit.ts";
import { RecentOrdinals } from "./recent-ordinals.ts";
import { fitIntoOffer, type QueriedSegment, SegmentQueries } from "./segment-queries.ts";
import { maxMetadataPackBytes, maxOnePackBytes, maxPendingNodes, type UploadSettings } from "./upload-settings.ts";
import type { ClientItem, FrameBlockList, SegmentAnswer, UploadTarget } from "./upload-target.ts";

/**
 * The number of this session's tree nodes that are kept in memory by id. If a node occurs again after it was removed from
 * memory, the catalog finds it if it is registered. Otherwise it is stored twice.
 */
const maxKnownNodes = 4096;

/**
 * New segments of this upload that are kept in memory by id, also after they were registered: the answer to a query may be
 * older than their registration. Many more than the segments in all portions in flight.
 */
const maxOwnSegments = 4096;

export interface UploadOptions {
  readonly ctx: EngineContext;
  readonly keys: WriterKeys;
  readonly signer: Signer;
  readonly session: OpenSession;
  /** The ordinals that the upload began with. */
  readonly ordinals: OrdinalRange;
  /** Whether there is a base snapshot. */
  readonly hasBase: boolean;
  readonly target: UploadTarget;
  readonly pool: CutWorkerPool;
  readonly settings: UploadSettings;
}

export class Upload implements NodeSink {
  readonly #options: UploadOptions;
  readonly #jobs: CutJobQueue;
  readonly #slots: SlotAllocator;
  readonly #smallPacks: SmallPacks;
  readonly #metadata: MetadataWriter;
  readonly #dataPacks: PackUploader;
  readonly #metadataPacks: PackUploader;
  readonly #ordinals: OrdinalReserve;
  readonly #segmentQueries: SegmentQueries;
  readonly #nodeQueries: NodeQueries;
  /** Places of the blocks that this upload stored. */
  readonly #newBlocks = new BlockTable();
  readonly #pending = new Map<string, PendingSegment>();
  readonly #ownSegments = new RecentOrdinals(maxOwnSegments);
  readonly #nodes = new RecentOrdinals(maxKnownNodes);
  readonly #nodeItems: ClientItem[] = [];
  /** Frames of this session that are not yet in a durable pack. */
  readonly #notDurable = new Set<number>();
  /** Frames of durable packs that are not registered. */
  readonly #notRegistered = new Set<number>();
  readonly #unregistered: DurablePack[] = [];
  /** Units that were begun and are not registered. */
  readonly #prepared = new Set<PreparedUnit>();
  /** Null without a bound. */
  readonly #sent: UnregisteredPacks | null;
  readonly nodeKey: Uint8Array;
  #nextN = 1;
  #nextUnit = 1;
  /** Bytes that were stored when the last unit was registered. */
  #unitBytes = 0;
  /** Bytes in full packs when `finish` was called last. */
  #finishedBytes = 0;
  /** Metadata goes into the data pack: what is left is so little that one pack holds everything. */
  #onePack = false;
  /** Bytes in full packs when open frames were sealed last. */
  #sealedBytes = 0;
  #decisions: Promise<void> = Promise.resolve();
  /** The last unit that was begun or waits to begin. Units are registered one after the other. */
  #registering: Promise<void> = Promise.resolve();
  /** What the next unit waits for: the metadata of the one before it is stored, and those before that are registered. */
  #beforeUnit: Promise<unknown> = Promise.resolve();
  /** A unit waits to begin. It will take everything that is durable then. */
  #isUnitWaiting = false;

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
    const { maxUnregisteredBytes } = settings;
    const sent = maxUnregisteredBytes === null ? null : new UnregisteredPacks(maxUnregisteredBytes);
    this.#sent = sent;
    this.#dataPacks = new PackUploader({
      ...packs,
      ...(sent !== null && { mayEnd: (name, size) => this.#admit(sent, name, size) }),
      onDurable: () => this.#onDurable(),
    });
    // Metadata is a thousandth of the data: small packs, and only one at a time.
    const metadataPackBytes = Math.min(settings.packBytes, maxMetadataPackBytes);
    this.#metadataPacks = new PackUploader({
      ...packs,
      kind: "metadata",
      packBytes: metadataPackBytes,
      packsInFlight: 1,
    });
    this.#ordinals = new OrdinalReserve(options.ordinals, (request, count) => target.reserveOrdinals(request, count));
    this.#segmentQueries = new SegmentQueries(
      joinedCalls((queries) => target.offer(queries), fitIntoOffer, {
        calls: usualCalls * settings.lookahead,
        questions: settings.segmentsPerOffer,
        mayMoreCome: () => this.#jobs.isCutting,
      }),
      (id) => this.#ownSegments.get(id) !== undefined,
    );
    this.#nodeQueries = new NodeQueries((ids) => target.offerNodes(ids));
    const nextN = () => this.#nextN++;
    const nextFrame = () => frameNumber(session.header.session, nextN());
    this.#slots = new SlotAllocator(nextN);
    this.#smallPacks = new SmallPacks(this.#dataPacks, this.#slots, settings.maxBlockListBytes);
    this.#metadata = new MetadataWriter(mainThreadSealer(session), nextFrame, (frame, bytes) => {
      (this.#onePack ? this.#dataPacks : this.#metadataPacks).add("meta", frame, 0, bytes);
    });
    this.#jobs = new CutJobQueue(pool, settings.lookahead, (workerIndex, message) =>
      this.#onMessage(workerIndex, message),
    );
    const binding = sessionBinding(session.header);
    const common = {
      session: session.header.session,
      binding,
      blockIdKey: keys.blockIdKey,
      cutterKey: cutterKeyOf(keys),
      hasBase,
      lookahead: settings.lookahead,
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

  get #fullBytes(): number {
    return this.#dataPacks.fullBytes + this.#metadataPacks.fullBytes;
  }

  /** Waits until a worker can take the job. `done` resolves when the job is cut and all its blocks have places. */
  async cut(plan: JobPlan): Promise<{ readonly done: Promise<CutResult> }> {
    return this.#jobs.submit(plan);
  }

  /**
   * Makes one segment of small files whose blocks are stored, in frames that this upload has pinned. Nothing is read: the id
   * of a segment follows from the ids of its blocks.
   */
  async join(files: readonly StoredBlocks[]): Promise<Reference> {
    const { id, recipe, hooks } = joinedSegment(files);
    const stored = this.#ownSegments.get(id) ?? (await this.#nodeQueries.find(id)) ?? this.#ownSegments.get(id);
    if (stored !== undefined) return { ordinal: stored, id };
    const ordinal = await this.#addSegment(id, recipe, hooks, 0);
    if (this.#smallPacks.hasManyRecords() && !(await this.#smallPacks.end())) await this.#startUnit();
    return { ordinal, id };
  }

  isNewOrdinal(ordinal: number): boolean {
    return this.#ordinals.has(ordinal);
  }

  putNode(id: Uint8Array, bytes: Uint8Array, isNew: boolean): Promise<number> | number {
    const known = this.#nodes.get(id);
    if (known !== undefined) return known;
    return isNew ? this.#storeNode(id, bytes) : this.#findOrStoreNode(id, bytes);
  }

  /**
   * Seals, stores and registers everything that was cut. After this the snapshot can be completed, or more be cut. Nothing may be
   * cut meanwhile.
   */
  async finish(): Promise<void> {
    await this.#decisions;
    await this.#jobs.waitForJobs();
    this.#jobs.seal((workerIndex) => this.#slots.sealAll(workerIndex));
    await this.#jobs.waitForSeals();
    await this.#registering;
    const openBytes = this.#dataPacks.openBytes + this.#metadataPacks.openBytes;
    const mostBytes = Math.min(this.#options.settings.packBytes, maxOnePackBytes);
    this.#onePack = this.#fullBytes === this.#finishedBytes && openBytes < mostBytes;
    // A pack may wait until others are registered, so they are, as soon as they are durable.
    if (!this.#onePack) await this.#dataPacks.drain();
    await this.#startUnit(true);
    await this.#registering;
    this.#onePack = false;
    this.#finishedBytes = this.#fullBytes;
  }

  /** Ends all jobs with this error. What waits for them rejects. */
  fail(error: unknown): void {
    this.#jobs.fail(error);
  }

  /** Releases the worker pool and ends the upload of packs in flight. Called after success and failure. */
  async close(): Promise<void> {
    this.#jobs.close();
    await Promise.all([this.#dataPacks.abandon(), this.#metadataPacks.abandon()]);
  }

  async #findOrStoreNode(id: Uint8Array, bytes: Uint8Array): Promise<number> {
    const stored = await this.#nodeQueries.find(id);
    // The same node may have been queried twice at the same time.
    const known = stored ?? this.#nodes.get(id);
    if (known === undefined) return this.#storeNode(id, bytes);
    this.#nodes.set(id, known);
    return known;
  }

  #storeNode(id: Uint8Array, bytes: Uint8Array): Promise<number> | number {
    if (this.#metadataPacks.isFull) return this.#metadataPacks.waitForSpace().then(() => this.#storeNode(id, bytes));
    if (this.#nodeItems.length >= maxPendingNodes) return this.#startUnit().then(() => this.#storeNode(id, bytes));
    const ordinal = this.#ordinals.take();
    if (typeof ordinal === "number") return this.#addNode(ordinal, id, bytes);
    return ordinal.then((taken) => this.#addNode(taken, id, bytes));
  }

  #addNode(ordinal: number, id: Uint8Array, bytes: Uint8Array): number {
    this.#nodes.set(id, ordinal);
    const place = this.#metadata.add("nodes", { kind: "node", ordinal, id, bytes });
    const recipe = encodeRecipe([
      { kind: "stored", frame: place.frame, slot: place.slot, count: 1, bytes: bytes.length },
    ]);
    this.#nodeItems.push({ ordinal, kind: "node", id: ownCopy(id), recipe, recordFrame: place.frame });
    return ordinal;
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
      const { portion } = message;
      const queried = this.#segmentQueries.find(portion, this.#jobs.job(portion.job).plan);
      queried.catch(() => {
        // The decision awaits it later and fails then.
      });
      this.#decisions = this.#decisions
        .then(async () => this.#decide(workerIndex, portion, await queried))
        .catch((error: unknown) => this.#jobs.fail(error));
    }
  }

  /** Decides for every block of a portion where it is stored, and answers the worker. */
  async #decide(workerIndex: number, portion: Portion, queried: readonly QueriedSegment[]): Promise<void> {
    const job = this.#jobs.job(portion.job);
    const plan = this.#slots.planPortion(workerIndex);
    const ordinals: number[] = [];
    for (const segment of queried) {
      const known = this.#ownSegments.get(segment.id) ?? segment.answer?.ordinal ?? 0;
      const previous = ordinals.at(-1) ?? job.previous;
      ordinals.push(known !== 0 ? known : await this.#storeSegment(portion, segment, plan, previous));
    }
    await this.#dataPacks.waitForSpace();
    this.#jobs.append(workerIndex, portion, plan.appends(), ordinals);
    if (this.#dataPacks.fullBytes - this.#sealedBytes >= this.#options.settings.unitBytes) this.#sealOpenFrames();
    if (this.#smallPacks.hasManyRecords() && !(await this.#smallPacks.end())) await this.#startUnit();
    if (this.#isUnitFull()) await this.#startUnit();
  }

  /** Only between two decisions: the blocks of a portion are appended to the frames that were open when it was decided. */
  #sealOpenFrames(): void {
    this.#sealedBytes = this.#dataPacks.fullBytes;
    this.#jobs.seal((workerIndex) => this.#slots.sealAll(workerIndex));
  }

  /** Waits until a pack may be sent. What it waits for is registered. */
  async #admit(sent: UnregisteredPacks, name: string, size: number): Promise<void> {
    // Everything is registered with this pack.
    if (this.#onePack) return;
    const admitted = sent.admit(name, size);
    this.#onDurable();
    await admitted;
  }

  #onDurable(): void {
    if (!this.#isUnitFull() && !this.#smallPacks.isWaiting && !(this.#sent?.isWaitedFor ?? false)) return;
    this.#startUnit().catch(() => {
      // The unit before it failed, which has ended the upload.
    });
  }

  #isUnitFull(): boolean {
    return this.storedBytes - this.#unitBytes >= this.#options.settings.unitBytes;
  }

  /** Finds or allocates a place for every block of a new segment. Returns the segment's ordinal. */
  async #storeSegment(
    portion: Portion,
    { id, first, hooks, answer }: QueriedSegment,
    plan: PortionPlan,
    previous: number,
  ): Promise<number> {
    if (answer === null) throw new Error("a segment that this upload stored is no longer in memory");
    return this.#addSegment(id, this.#placeBlocks(portion, first, answer, plan), hooks, previous);
  }

  /** Gives a new segment an ordinal. It is registered with the next unit. */
  async #addSegment(id: Uint8Array, runs: Recipe, hooks: readonly bigint[], previous: number): Promise<number> {
    const ordinal = await this.#ordinals.take();
    const item = { ordinal, kind: "segment", id: ownCopy(id), recipe: encodeRecipe(runs), recordFrame: 0 } as const;
    this.#pending.set(hex(id), { item, recipe: runs, frames: framesOf(runs), hooks, previous });
    this.#ownSegments.set(id, ordinal);
    this.#smallPacks.newSegments++;
    return ordinal;
  }

  #placeBlocks(portion: Portion, first: number, { frames, slots }: SegmentAnswer, plan: PortionPlan) {
    const recipe = new RecipeBuilder();
    const place = { frame: 0, slot: 0 };
    const session = this.#options.session.header.session;
    let n = 0;
    let frame = 0;
    for (let i = 0; i < frames.length; i++) {
      const block = first + i;
      const length = portion.lengths[block] ?? 0;
      const stored = frames[i] ?? 0;
      if (portion.zeros[block] === 1) recipe.zeros(length);
      else if (this.#newBlocks.find(portion.ids, block, place)) recipe.stored(place.frame, place.slot, length);
      else if (stored !== 0) recipe.stored(stored, slots[i] ?? 0, length);
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
    return recipe.take();
  }

  /**
   * Registers a unit, while further portions are decided and while the one before it is registered. Resolves when it has begun; if another one waits to
   * begin, when that one has ended its first half.
   */
  async #startUnit(everything = false): Promise<void> {
    const before = this.#beforeUnit;
    if (everything || !this.#isUnitWaiting) {
      this.#isUnitWaiting = true;
      const prepared = before.then(() => {
        this.#isUnitWaiting = false;
        return this.#prepareUnit(everything);
      });
      const registeredBefore = this.#registering;
      const registering = Promise.all([prepared, registeredBefore]).then(([unit]) => this.#register(unit));
      registering.catch((error: unknown) => {
        this.#jobs.fail(error);
        this.#dataPacks.fail(error);
      });
      this.#registering = registering;
      this.#beforeUnit = Promise.all([prepared, registeredBefore]);
      this.#beforeUnit.catch(() => {
        // `#registering` rejects with it.
      });
    }
    await before;
  }

  /**
   * The first half of a unit: its metadata is stored. With `everything`, all packs are made durable first; otherwise only what is durable is in the unit.
   */
  async #prepareUnit(everything: boolean): Promise<PreparedUnit> {
    this.#unitBytes = this.storedBytes;
    this.#addDurable(this.#dataPacks.takeDurable());
    const ready = [...this.#pending].filter(
      ([, { frames }]) => everything || !frames.some((frame) => this.#notDurable.has(frame)),
    );
    const prepared: PreparedUnit = { unit: null, segments: ready.map(([, segment]) => segment), packs: [] };
    this.#prepared.add(prepared);
    const items: ClientItem[] = [];
    for (const [key, { item, hooks }] of ready) {
      const { ordinal, id, recipe } = item;
      const place = this.#metadata.add("records", { kind: "segment", ordinal, id, recipe, hooks });
      items.push({ ...item, recordFrame: place.frame });
      this.#pending.delete(key);
    }
    const blockLists = this.#writeBlockLists(everything);
    this.#metadata.flush("records");
    this.#metadata.flush("nodes");
    // The tree writer goes on while packs are stored. The nodes that it adds from here on belong to the next unit.
    const nodes = this.#nodeItems.splice(0);
    if (everything) await this.#dataPacks.drain();
    await this.#metadataPacks.drain();
    this.#addDurable([...this.#dataPacks.takeDurable(), ...this.#metadataPacks.takeDurable()]);
    // A data pack may have become durable after the block lists were written: it waits for the next unit.
    const isReady = ({ frames }: DurablePack) =>
      frames.every((each) => each.kind === "meta" || blockLists.has(each.frame));
    prepared.packs = this.#unregistered.filter(isReady);
    this.#unregistered.splice(0, this.#unregistered.length, ...this.#unregistered.filter((pack) => !isReady(pack)));
    if (prepared.packs.length === 0 && items.length === 0 && nodes.length === 0) return prepared;
    const number = this.#nextUnit++;
    const packs = prepared.packs.map(({ pack }) => pack);
    prepared.unit = {
      ...{ number, packs, ...linksOf(prepared.segments) },
      blockLists: [...blockLists.values()],
      items: [...items, ...nodes],
    };
    return prepared;
  }

  /** The second half of a unit, after the units before it: its recipes may name their frames. */
  async #register(prepared: PreparedUnit): Promise<void> {
    const { unit, packs } = prepared;
    if (unit !== null) await this.#options.target.register(unit);
    this.#prepared.delete(prepared);
    for (const { frames } of packs) for (const { frame } of frames) this.#notRegistered.delete(frame);
    this.#smallPacks.registered(packs);
    if (this.#sent === null) return;
    const segments = [...this.#pending.values(), ...[...this.#prepared].flatMap((each) => each.segments)];
    const isRegistered = (frame: number) => !this.#notDurable.has(frame) && !this.#notRegistered.has(frame);
    const torn = tornBytes(segments, this.#options.session.header.session, isRegistered);
    this.#sent.registered(unit?.packs ?? [], torn);
  }

  /** Writes copies of the block lists of durable frames into metadata frames. */
  #writeBlockLists(everything: boolean): Map<number, FrameBlockList> {
    const { session } = this.#options.session.header;
    const written = new Map<number, FrameBlockList>();
    for (const [n, blockList] of this.#slots.blockLists) {
      const frame = frameNumber(session, n);
      if (!everything && this.#notDurable.has(frame)) continue;
      const place = this.#metadata.add("records", { kind: "blockList", frame, generation: 0, blockList });
      written.set(frame, { frame, recordFrame: place.frame, blockList });
      this.#slots.blockLists.delete(n);
    }
    return written;
  }

  #addDurable(packs: readonly DurablePack[]): void {
    for (const pack of packs) {
      this.#unregistered.push(pack);
      for (const { frame } of pack.frames) {
        this.#notDurable.delete(frame);
        this.#notRegistered.add(frame);
      }
    }
  }
}
