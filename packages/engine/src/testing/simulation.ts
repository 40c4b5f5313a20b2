/**
 * A simulation of everything that competes for packs: uploads, deletions, prune, repack. The catalog, marking and the
 * deletion of packs are the real ones. Packs are names without bytes, so thousands of interleavings take seconds.
 */

import assert from "node:assert/strict";
import type { Catalog, FrameRow, Item, SnapshotRow } from "../catalog/catalog.ts";
import { CatalogError } from "../catalog/catalog.ts";
import { MemoryCatalog } from "../catalog/memory.ts";
import { SqliteCatalog } from "../catalog/sqlite/sqlite.ts";
import { Bitmap } from "../format/bitmap.ts";
import { decodeBlockList, encodeBlockList } from "../format/block-list.ts";
import { decodeRecipe, encodeRecipe } from "../format/recipe.ts";
import { noRetention } from "../format/snapshot.ts";
import { deleteDeadPacks } from "../upkeep/delete-packs.ts";
import type { LiveSet } from "../upkeep/live-set.ts";
import { wastefulPacks } from "../upkeep/live-set.ts";
import { markVault } from "../upkeep/mark.ts";
import { brokenMemoryCatalogs, brokenSqliteCatalogs } from "./broken-catalogs.ts";
import { allFrameRows, listSnapshots } from "./catalog-content.ts";
import { CatalogFile } from "./catalog-file.ts";
import { SeededRandom } from "./random-tree.ts";
import { Scheduler } from "./scheduler.ts";

/** Where several simulations share one catalog: each has names and frames of its own, and knows only its own packs. */
export interface SharedSimulation {
  readonly prefix: string;
  readonly firstFrame: number;
}

/** The state of one simulation: the catalog, and the names of the packs that the store has. */
class Simulation {
  readonly random: SeededRandom;
  readonly catalog: Catalog;
  readonly packs = new Set<string>();
  readonly names = { pack: (pack: string) => pack } as never;
  readonly #shared: SharedSimulation | null;
  #next = 1;
  #frame: number;

  constructor(seed: number, catalog: Catalog, shared: SharedSimulation | null = null) {
    this.random = new SeededRandom(seed);
    this.catalog = catalog;
    this.#shared = shared;
    this.#frame = shared?.firstFrame ?? 1;
  }

  readonly store = {
    delete: async (pack: string) => {
      this.packs.delete(pack);
    },
  } as never;

  name(): string {
    return `${this.#shared?.prefix ?? ""}p${this.#next++}`;
  }

  frame(pack: string, generation: number, lengths: readonly number[], number = this.#frame++): FrameRow {
    const blockList = encodeBlockList({
      ids: new Uint8Array(lengths.length * 16).fill(1),
      lengths: Uint32Array.from(lengths),
    });
    return {
      frame: number,
      generation,
      kind: "data",
      pack,
      offset: 0,
      length: 10,
      frameId: Buffer.alloc(32),
      session: 1,
      blockList,
      recordFrame: 0,
      damaged: false,
    };
  }

  /** A frame of records, without bytes. */
  metaFrame(pack: string): FrameRow {
    return { ...this.frame(pack, 0, []), kind: "meta", blockList: new Uint8Array(0) };
  }

  /** Those of the packs that are in the store. */
  async #stored(packs: readonly string[]): Promise<ReadonlySet<string>> {
    if (this.#shared === null) return this.packs;
    const rows = await this.catalog.packs(packs);
    return new Set(rows.flatMap((row) => (row === null || row.state === "deleting" ? [] : [row.pack])));
  }

  /** The records of items, and of the block lists of their frames, are in packs that exist. */
  async #assertRecords(id: string, frames: readonly number[]): Promise<void> {
    const records = frames.filter((frame) => frame !== 0);
    const places = await this.catalog.framePlaces(records);
    const stored = await this.#stored(places.flatMap((place) => place?.pack ?? []));
    for (const [i, place] of places.entries())
      assert.ok(place !== null && stored.has(place.pack), `snapshot ${id} lost the record frame ${records[i]}`);
  }

  /** Everything that a committed snapshot reaches is in a pack that exists, in a slot that was not dropped. */
  async assertSound(): Promise<void> {
    for (const { id, reach } of await listSnapshots(this.catalog)) {
      const items = await this.catalog.itemsByOrdinal([...Bitmap.decode(reach)]);
      const runs = items.flatMap((item) => {
        assert.ok(item !== null, `snapshot ${id} lost an item`);
        return decodeRecipe(item.recipe).filter((run) => run.kind === "stored");
      });
      await this.#assertRecords(
        id,
        items.map((item) => item?.recordFrame ?? 0),
      );
      const rows = await this.catalog.frames(runs.map(({ frame }) => frame));
      const stored = await this.#stored(rows.flatMap((row) => row?.pack ?? []));
      for (const [i, { frame, slot, count }] of runs.entries()) {
        const row = rows[i];
        assert.ok(row !== null && row !== undefined && stored.has(row.pack), `snapshot ${id} lost frame ${frame}`);
        const slots = decodeBlockList(row.blockList).lengths.subarray(slot, slot + count);
        assert.ok(slots.length === count && !slots.includes(0), `snapshot ${id} lost a slot of frame ${frame}`);
      }
      await this.#assertRecords(
        id,
        rows.map((row) => row?.recordFrame ?? 0),
      );
    }
  }
}

/** Contents that uploads choose from: few, so that uploads and prunes compete for them. */
const contents = 6;
const framesPerContent = 3;
const contentId = (n: number) => Buffer.alloc(32, n + 1);

/** An upload as a backup does it: acquire items, store the unknown ones, register a unit, commit. */
async function upload(
  simulation: Simulation,
  catalog: Catalog,
  name: string,
  leaseUntil = Number.MAX_SAFE_INTEGER,
): Promise<void> {
  const { random } = simulation;
  const base = random.chance(30) ? ((await listSnapshots(catalog)).at(-1)?.id ?? null) : null;
  try {
    await catalog.beginUpload({ upload: name, owner: "o", leaseUntil, base });
  } catch (error) {
    if (error instanceof CatalogError && error.code === "unknown_snapshot") return;
    throw error;
  }
  const reach = new Bitmap();
  for (let i = 1 + random.below(3); i > 0; i--) {
    const content = random.below(contents);
    const [known] = await catalog.acquire(name, [contentId(content)]);
    reach.add(known?.ordinal ?? (await storeContent(simulation, catalog, name, content)));
  }
  if (random.chance(15)) return catalog.endUpload(name);
  const row: SnapshotRow = {
    id: name,
    source: "s",
    session: 1,
    startedAt: 0,
    completedAt: random.below(100),
    rootOrdinal: 0,
    rootId: contentId(0),
    size: 0,
    files: 0,
    warnings: 0,
    storedBytes: 0,
    status: "completed",
    changes: 0,
    retention: noRetention,
    reach: reach.encode(),
  };
  await catalog.commit(name, 1, row);
}

/** When the leases of some uploads end. Every step happens before that time, but for the expiry. */
const shortLease = 10;

/** An upload that may find that its lease has ended. */
async function expiringUpload(simulation: Simulation, catalog: Catalog, name: string): Promise<void> {
  try {
    await upload(simulation, catalog, name, shortLease);
  } catch (error) {
    if (!(error instanceof CatalogError && error.code === "unknown_upload")) throw error;
  }
}

async function storeContent(simulation: Simulation, catalog: Catalog, name: string, content: number): Promise<number> {
  const pack = simulation.name();
  // The record is in a pack of its own, beside a frame that nothing needs.
  const recordPack = simulation.name();
  const [record, unused] = [simulation.metaFrame(recordPack), simulation.metaFrame(recordPack)];
  const frame = { ...simulation.frame(pack, 0, [5, 5, 5]), recordFrame: record.frame };
  const ordinal = await catalog.reserveOrdinals(1);
  // A slot of an old frame next to a new one, as the matcher finds it.
  const runs = [{ kind: "stored", frame: frame.frame, slot: 0, count: 1, bytes: 5 }] as {
    kind: "stored";
    frame: number;
    slot: number;
    count: number;
    bytes: number;
  }[];
  const old = frame.frame - framesPerContent * (1 + simulation.random.below(3));
  const [row] = old > 0 ? await catalog.frames([old]) : [null];
  if (row?.kind === "data" && (decodeBlockList(row.blockList).lengths[1] ?? 0) > 0) {
    const [pinned] = await catalog.acquireFrames(name, [old]);
    const [after] = await catalog.frames([old]);
    const isFilled = after !== null && after !== undefined && (decodeBlockList(after.blockList).lengths[1] ?? 0) > 0;
    if (pinned === true && isFilled) runs.push({ kind: "stored", frame: old, slot: 1, count: 1, bytes: 5 });
  }
  for (const each of [pack, recordPack]) simulation.packs.add(each);
  const item: Item = {
    ordinal,
    kind: "segment",
    id: contentId(content),
    recipe: encodeRecipe(runs),
    recordFrame: record.frame,
    next: 0,
    owner: "o",
    verified: false,
  };
  await catalog.addUnit(name, 1, {
    packs: [pack, recordPack].map((each) => ({ pack: each, session: 1, size: 10, state: "live" as const })),
    header: Buffer.alloc(0),
    frames: [record, unused, frame],
    items: [item],
    hooks: [content, content + 1].map((hook) => [BigInt(hook), ordinal] as const),
    follows: [],
  });
  return ordinal;
}

/** Like `rewritePacks`: condemn packs by a marking, write them without dead slots, move the frames if still condemned. */
async function rewrite(simulation: Simulation, catalog: Catalog, name: string): Promise<void> {
  const { liveSet, revision } = await markVault({ catalog });
  const { condemned } = await catalog.condemn(wastefulPacks(liveSet, -1), revision);
  for (const [i, pack] of condemned.entries())
    await rewritePack(simulation, catalog, `${name} ${i}`, pack, liveSet, revision);
}

async function rewritePack(
  simulation: Simulation,
  catalog: Catalog,
  name: string,
  pack: string,
  liveSet: LiveSet,
  marking: number,
): Promise<void> {
  await catalog.beginUpload({ upload: name, owner: "upkeep", leaseUntil: Number.MAX_SAFE_INTEGER, base: null });
  const to = simulation.name();
  const moves = [];
  for await (const row of allFrameRows(catalog)) {
    const live = liveSet.slots.get(row.frame);
    if (row.pack !== pack || (live === undefined && !liveSet.metaFrames.has(row.frame))) continue;
    const from = { pack, generation: row.generation, marking };
    const moved = { ...row, pack: to, generation: row.generation + 1 };
    if (live === undefined) moves.push({ from, to: moved });
    else {
      const { ids, lengths } = decodeBlockList(row.blockList);
      const kept = lengths.map((length, slot) => (live.has(slot) ? length : 0));
      moves.push({ from, to: { ...moved, blockList: encodeBlockList({ ids, lengths: kept }) } });
    }
  }
  simulation.packs.add(to);
  const unit = {
    packs: [{ pack: to, session: 1, size: 10, state: "live" as const }],
    header: Buffer.alloc(0),
    frames: [],
    items: [],
    hooks: [],
    follows: [],
  };
  const moved = moves.length > 0 && (await catalog.moveFrames(name, 1, unit, moves, liveSet.deadItems.get(pack) ?? []));
  await catalog.endUpload(name);
  if (!moved) simulation.packs.delete(to);
  else {
    simulation.packs.delete(pack);
    await catalog.forgetPack(pack);
  }
}

/** Like `moveSegments`, for all blocks: pin the frames, copy the blocks to a new pack, replace the recipe. */
async function repack(simulation: Simulation, catalog: Catalog, name: string): Promise<void> {
  await catalog.beginUpload({ upload: name, owner: "upkeep", leaseUntil: Number.MAX_SAFE_INTEGER, base: null });
  const newest = (await listSnapshots(catalog)).at(-1);
  for (const item of newest === undefined ? [] : await itemsOf(catalog, newest)) {
    const runs = decodeRecipe(item.recipe).filter((run) => run.kind === "stored");
    const pinned = await catalog.acquireFrames(
      name,
      runs.map(({ frame }) => frame),
    );
    if (!pinned.every((each) => each)) continue;
    const pack = simulation.name();
    const frame = simulation.frame(
      pack,
      0,
      runs.map(() => 5),
    );
    simulation.packs.add(pack);
    const copied = runs.map((run, slot) => ({ ...run, frame: frame.frame, slot }));
    const packs = [{ pack, session: 1, size: 10, state: "live" as const }];
    const unit = { packs, header: Buffer.alloc(0), frames: [frame], hooks: [], follows: [] };
    await catalog.addUnit(name, 1, { ...unit, items: [{ ...item, recipe: encodeRecipe(copied) }] });
  }
  await catalog.endUpload(name);
}

async function itemsOf(catalog: Catalog, { reach }: SnapshotRow): Promise<Item[]> {
  return (await catalog.itemsByOrdinal([...Bitmap.decode(reach)])).filter((item) => item !== null);
}

/** Deletes any snapshot: also the newest, whose items a repack gives new recipes. */
async function deleteAny({ random }: Simulation, catalog: Catalog): Promise<void> {
  const rows = await catalog.snapshotPage();
  if (rows.length > 1) await catalog.deleteSnapshot(random.pick(rows).id, 1);
}

/** What the actors of a process do on a catalog that several processes share. */
export interface SimulatedProcess {
  upload(name: string): Promise<void>;
  /** An upload whose lease has ended at once for `expire`. */
  expiringUpload(name: string): Promise<void>;
  expire(): Promise<unknown>;
  deleteAny(): Promise<void>;
  prune(): Promise<unknown>;
  rewrite(name: string): Promise<void>;
  repack(name: string): Promise<void>;
  /** Throws if a snapshot has lost something. */
  assertSound(): Promise<void>;
}

export function simulatedProcess(seed: number, catalog: Catalog, shared: SharedSimulation): SimulatedProcess {
  const simulation = new Simulation(seed, catalog, shared);
  const { store, names } = simulation;
  return {
    upload: (name) => upload(simulation, catalog, name),
    expiringUpload: (name) => expiringUpload(simulation, catalog, name),
    expire: () => catalog.expireUploads(shortLease),
    deleteAny: () => deleteAny(simulation, catalog),
    prune: () => deleteDeadPacks({ catalog, store, names }),
    rewrite: (name) => rewrite(simulation, catalog, name),
    repack: (name) => repack(simulation, catalog, name),
    assertSound: () => simulation.assertSound(),
  };
}

/** Which catalog is simulated: a correct one (`bug` is null) or one that breaks a rule. */
export type SimulationKind =
  | { readonly catalog: "memory"; readonly bug: keyof typeof brokenMemoryCatalogs | null }
  | { readonly catalog: "sqlite"; readonly bug: SqliteBug };

type SqliteBug = keyof typeof brokenSqliteCatalogs | null;

/** Runs interleavings one after the other. */
export interface Simulator {
  /** Runs one interleaving; throws when it loses something or fails a backup. Returns the number of turns. */
  interleave(seed: number): Promise<number>;
  close(): Promise<void>;
}

export function openSimulator(kind: SimulationKind): Simulator {
  return kind.catalog === "memory" ? memorySimulator(kind.bug) : sqliteSimulator(kind.bug);
}

function memorySimulator(bug: keyof typeof brokenMemoryCatalogs | null): Simulator {
  const CatalogClass = bug === null ? MemoryCatalog : brokenMemoryCatalogs[bug];
  return {
    interleave: (seed) => {
      const catalog = new CatalogClass(bareContext);
      return play(seed, new Scheduler(seed), catalog, catalog);
    },
    close: async () => {},
  };
}

/** The file and its two processes stay open, because opening takes as long as an interleaving. Each seed starts empty. */
function sqliteSimulator(bug: SqliteBug): Simulator {
  const file = new CatalogFile();
  let scheduler = new Scheduler(0);
  const [one, two] = [1, 2].map(() => openProcess(file.path, bug, () => scheduler));
  if (one === undefined || two === undefined) throw new Error("two processes were asked for");
  return {
    interleave: (seed) => {
      file.reset();
      scheduler = new Scheduler(seed);
      return play(seed, scheduler, one, two);
    },
    close: async () => {
      await one.close();
      await two.close();
      file.remove();
    },
  };
}

/** Runs the actors, which are spread over two processes. */
async function play(seed: number, scheduler: Scheduler, one: Catalog, two: Catalog): Promise<number> {
  const [a, b] = [scheduler.gated<Catalog>(one), scheduler.gated<Catalog>(two)];
  await playActors(seed, { check: one, a, b }, (actors) => scheduler.run(actors));
  return scheduler.steps;
}

/** One catalog as its processes see it: `a` and `b` wait for turns, `check` does not. */
export interface SimulatedCatalogs {
  readonly check: Catalog;
  readonly a: Catalog;
  readonly b: Catalog;
  /** Some uploads have a lease that ends before they do. */
  readonly leasesEnd?: boolean;
}

/** Runs the actors and checks that nothing is lost. */
export async function playActors(
  seed: number,
  { check, a, b, leasesEnd = false }: SimulatedCatalogs,
  run: (actors: readonly (() => Promise<unknown>)[]) => Promise<void>,
): Promise<void> {
  const simulation = new Simulation(seed, check);
  for (const name of ["base1", "base2", "base3"]) await upload(simulation, check, name);
  const { store, names } = simulation;
  const uploads = leasesEnd
    ? [
        () => expiringUpload(simulation, a, "e1"),
        () => expiringUpload(simulation, b, "e2"),
        () => a.expireUploads(shortLease),
        () => b.expireUploads(shortLease),
      ]
    : [];
  await run([
    () => upload(simulation, a, "u1"),
    () => upload(simulation, b, "u2"),
    async () => {
      await deleteAny(simulation, a);
      await deleteAny(simulation, a);
    },
    () => deleteDeadPacks({ catalog: b, store, names }),
    () => rewrite(simulation, a, "r1"),
    () => repack(simulation, b, "r2"),
    () => deleteDeadPacks({ catalog: a, store, names }),
    ...uploads,
  ]);
  await simulation.assertSound();
}

/** Opens the catalog file as one process. Steps of other processes run between any two of its statements. */
function openProcess(file: string, bug: SqliteBug, scheduler: () => Scheduler): SqliteCatalog {
  let opened: SqliteCatalog | null = null;
  const before = () => {
    if (opened !== null) scheduler().intrude(opened);
  };
  const CatalogClass = bug === null ? SqliteCatalog : brokenSqliteCatalogs[bug];
  opened = new CatalogClass(file, bareContext, before);
  return opened;
}

/** A context without hashing: a catalog draws few numbers, and they need not be random here. */
const bareContext = { now: () => 0, random: (length: number) => Buffer.alloc(length, 1) };
