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

/** The state of one simulation: the catalog, and the names of the packs that the store has. */
class Simulation {
  readonly random: SeededRandom;
  readonly catalog: Catalog;
  readonly packs = new Set<string>();
  readonly names = { pack: (pack: string) => pack } as never;
  #next = 1;
  #frame = 1;

  constructor(seed: number, catalog: Catalog) {
    this.random = new SeededRandom(seed);
    this.catalog = catalog;
  }

  readonly store = {
    delete: async (pack: string) => {
      this.packs.delete(pack);
    },
  } as never;

  name(): string {
    return `p${this.#next++}`;
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

  /** Everything that a committed snapshot reaches is in a pack that exists, in a slot that was not dropped. */
  async assertSound(): Promise<void> {
    for (const { id, reach } of await listSnapshots(this.catalog)) {
      for (const item of await this.catalog.itemsByOrdinal([...Bitmap.decode(reach)])) {
        assert.ok(item !== null, `snapshot ${id} lost an item`);
        for (const run of decodeRecipe(item.recipe)) {
          if (run.kind !== "stored") continue;
          const [row] = await this.catalog.frames([run.frame]);
          assert.ok(
            row !== null && row !== undefined && this.packs.has(row.pack),
            `snapshot ${id} lost frame ${run.frame}`,
          );
          for (let i = 0; i < run.count; i++) {
            assert.ok(
              (decodeBlockList(row.blockList).lengths[run.slot + i] ?? 0) > 0,
              `snapshot ${id} lost a slot of frame ${run.frame}`,
            );
          }
        }
      }
    }
  }
}

/** Contents that uploads choose from: few, so that uploads and prunes compete for them. */
const contents = 6;
const contentId = (n: number) => Buffer.alloc(32, n + 1);

/** An upload as a backup does it: acquire items, store the unknown ones, register a unit, commit. */
async function upload(simulation: Simulation, catalog: Catalog, name: string): Promise<void> {
  const { random } = simulation;
  const base = random.chance(30) ? ((await listSnapshots(catalog)).at(-1)?.id ?? null) : null;
  try {
    await catalog.beginUpload({ upload: name, owner: "o", leaseUntil: Number.MAX_SAFE_INTEGER, base });
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

async function storeContent(simulation: Simulation, catalog: Catalog, name: string, content: number): Promise<number> {
  const pack = simulation.name();
  const frame = simulation.frame(pack, 0, [5, 5, 5]);
  const ordinal = await catalog.reserveOrdinals(1);
  // A slot of an old frame next to a new one, as the matcher finds it.
  const runs = [{ kind: "stored", frame: frame.frame, slot: 0, count: 1, bytes: 5 }] as {
    kind: "stored";
    frame: number;
    slot: number;
    count: number;
    bytes: number;
  }[];
  const old = frame.frame - 1 - simulation.random.below(3);
  const [row] = old > 0 ? await catalog.frames([old]) : [null];
  if (row !== null && row !== undefined && (decodeBlockList(row.blockList).lengths[1] ?? 0) > 0) {
    const [pinned] = await catalog.acquireFrames(name, [old]);
    const [after] = await catalog.frames([old]);
    const isFilled = after !== null && after !== undefined && (decodeBlockList(after.blockList).lengths[1] ?? 0) > 0;
    if (pinned === true && isFilled) runs.push({ kind: "stored", frame: old, slot: 1, count: 1, bytes: 5 });
  }
  simulation.packs.add(pack);
  const item: Item = {
    ordinal,
    kind: "segment",
    id: contentId(content),
    recipe: encodeRecipe(runs),
    recordFrame: 0,
    next: 0,
    owner: "o",
    verified: false,
  };
  await catalog.addUnit(name, 1, {
    packs: [{ pack, session: 1, size: 10, state: "live" }],
    header: Buffer.alloc(0),
    frames: [frame],
    items: [item],
    hooks: [],
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
    if (row.pack !== pack || live === undefined) continue;
    const lengths = [...decodeBlockList(row.blockList).lengths].map((length, slot) => (live.has(slot) ? length : 0));
    moves.push({
      from: { pack, generation: row.generation, marking },
      to: simulation.frame(to, row.generation + 1, lengths, row.frame),
    });
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
  const simulation = new Simulation(seed, one);
  for (const name of ["base1", "base2", "base3"]) await upload(simulation, one, name);
  const { store, names } = simulation;
  const [a, b] = [scheduler.gated<Catalog>(one), scheduler.gated<Catalog>(two)];
  await scheduler.run([
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
  ]);
  await simulation.assertSound();
  return scheduler.steps;
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
