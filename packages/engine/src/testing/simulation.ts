/**
 * A simulation of everything that competes for packs: uploads, deletions, collection, rewriting. Catalog, marking and
 * sweeping are the real ones; content is reduced to names, so that thousands of interleavings take seconds.
 */

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Catalog, FrameRow, Item, SnapshotRow } from "../catalog/catalog.ts";
import { CatalogError } from "../catalog/catalog.ts";
import type { PlantedBug } from "../catalog/memory.ts";
import { MemoryCatalog } from "../catalog/memory.ts";
import { SqliteCatalog } from "../catalog/sqlite/sqlite.ts";
import { Bitmap } from "../format/bitmap.ts";
import { decodeBlockList, encodeBlockList } from "../format/block-list.ts";
import { noRetention } from "../format/manifest.ts";
import { decodeRecipe, encodeRecipe } from "../format/recipe.ts";
import type { Liveness } from "../upkeep/liveness.ts";
import { wastefulPacks } from "../upkeep/liveness.ts";
import { deleteDeadPacks, markVault } from "../upkeep/prune.ts";
import { Dice } from "./random-tree.ts";
import { Scheduler } from "./scheduler.ts";

/** A world without bytes: real catalog, real marking, real sweeping; packs are names in a set. */
class World {
  readonly dice: Dice;
  readonly catalog: Catalog;
  readonly packs = new Set<string>();
  readonly names = { pack: (pack: string) => pack } as never;
  #next = 1;
  #frame = 1;

  constructor(seed: number, catalog: Catalog) {
    this.dice = new Dice(seed);
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
      record: 0,
      damaged: false,
    };
  }

  /** Everything that a committed snapshot reaches is in a pack that exists, in a slot that was not dropped. */
  async assertSound(): Promise<void> {
    for (const { id, reach } of await this.catalog.snapshots()) {
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

/** Contents that uploads choose from: few, so that uploads and collections meet. */
const contents = 6;
const contentId = (n: number) => Buffer.alloc(32, n + 1);

/** An upload as the pipeline does it: ask, pin, store what is unknown, register, commit. */
async function upload(world: World, catalog: Catalog, name: string): Promise<void> {
  const { dice } = world;
  const base = dice.chance(30) ? ((await catalog.snapshots()).at(-1)?.id ?? null) : null;
  try {
    await catalog.beginUpload({ upload: name, owner: "o", leaseUntil: Number.MAX_SAFE_INTEGER, base });
  } catch (error) {
    if (error instanceof CatalogError && error.code === "unknown_snapshot") return;
    throw error;
  }
  const reach = new Bitmap();
  for (let i = 1 + dice.below(3); i > 0; i--) {
    const content = dice.below(contents);
    const [known] = await catalog.acquire(name, [contentId(content)]);
    reach.add(known?.ordinal ?? (await storeContent(world, catalog, name, content)));
  }
  if (dice.chance(15)) return catalog.endUpload(name);
  const row: SnapshotRow = {
    id: name,
    source: "s",
    session: 1,
    startedAt: 0,
    completedAt: dice.below(100),
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

async function storeContent(world: World, catalog: Catalog, name: string, content: number): Promise<number> {
  const pack = world.name();
  const frame = world.frame(pack, 0, [5, 5, 5]);
  const ordinal = await catalog.reserveOrdinals(1);
  // A slot of an old frame next to a new one: what block matching does.
  const runs = [{ kind: "stored", frame: frame.frame, slot: 0, count: 1, bytes: 5 }] as {
    kind: "stored";
    frame: number;
    slot: number;
    count: number;
    bytes: number;
  }[];
  const old = frame.frame - 1 - world.dice.below(3);
  const [row] = old > 0 ? await catalog.frames([old]) : [null];
  if (row !== null && row !== undefined && (decodeBlockList(row.blockList).lengths[1] ?? 0) > 0) {
    const [pinned] = await catalog.acquireFrames(name, [old]);
    const [after] = await catalog.frames([old]);
    const there = after !== null && after !== undefined && (decodeBlockList(after.blockList).lengths[1] ?? 0) > 0;
    if (pinned === true && there) runs.push({ kind: "stored", frame: old, slot: 1, count: 1, bytes: 5 });
  }
  world.packs.add(pack);
  const item: Item = {
    ordinal,
    kind: "segment",
    id: contentId(content),
    recipe: encodeRecipe(runs),
    record: 0,
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

/** Rewriting as `rewritePacks` does it: condemn by one marking, write without dead slots, switch over if still condemned. */
async function rewrite(world: World, catalog: Catalog, name: string): Promise<void> {
  const { state, generation } = await markVault({ catalog });
  const { condemned } = await catalog.condemn(wastefulPacks(state, -1), generation);
  for (const [i, pack] of condemned.entries())
    await rewritePack(world, catalog, `${name} ${i}`, pack, state, generation);
}

async function rewritePack(
  world: World,
  catalog: Catalog,
  name: string,
  pack: string,
  state: Liveness,
  marking: number,
): Promise<void> {
  await catalog.beginUpload({ upload: name, owner: "upkeep", leaseUntil: Number.MAX_SAFE_INTEGER, base: null });
  const to = world.name();
  const moves = [];
  for await (const row of catalog.allFrames()) {
    const live = state.slots.get(row.frame);
    if (row.pack !== pack || live === undefined) continue;
    const lengths = [...decodeBlockList(row.blockList).lengths].map((length, slot) => (live.has(slot) ? length : 0));
    moves.push({
      from: { pack, generation: row.generation, marking },
      to: world.frame(to, row.generation + 1, lengths, row.frame),
    });
  }
  world.packs.add(to);
  const unit = {
    packs: [{ pack: to, session: 1, size: 10, state: "live" as const }],
    header: Buffer.alloc(0),
    frames: [],
    items: [],
    hooks: [],
    follows: [],
  };
  const moved = moves.length > 0 && (await catalog.moveFrames(name, 1, unit, moves, state.deadItems.get(pack) ?? []));
  await catalog.endUpload(name);
  if (!moved) world.packs.delete(to);
  else {
    world.packs.delete(pack);
    await catalog.forgetPack(pack);
  }
}

/** Relaying as `moveSegments` does it, of all blocks: pin what is read, lay it down in a new pack, replace the recipe. */
async function repack(world: World, catalog: Catalog, name: string): Promise<void> {
  await catalog.beginUpload({ upload: name, owner: "upkeep", leaseUntil: Number.MAX_SAFE_INTEGER, base: null });
  const newest = (await catalog.snapshots()).at(-1);
  for (const item of newest === undefined ? [] : await itemsOf(catalog, newest)) {
    const runs = decodeRecipe(item.recipe).filter((run) => run.kind === "stored");
    const pinned = await catalog.acquireFrames(
      name,
      runs.map(({ frame }) => frame),
    );
    if (!pinned.every((each) => each)) continue;
    const pack = world.name();
    const frame = world.frame(
      pack,
      0,
      runs.map(() => 5),
    );
    world.packs.add(pack);
    const laid = runs.map((run, slot) => ({ ...run, frame: frame.frame, slot }));
    const packs = [{ pack, session: 1, size: 10, state: "live" as const }];
    const unit = { packs, header: Buffer.alloc(0), frames: [frame], hooks: [], follows: [] };
    await catalog.addUnit(name, 1, { ...unit, items: [{ ...item, recipe: encodeRecipe(laid) }] });
  }
  await catalog.endUpload(name);
}

async function itemsOf(catalog: Catalog, { reach }: SnapshotRow): Promise<Item[]> {
  return (await catalog.itemsByOrdinal([...Bitmap.decode(reach)])).filter((item) => item !== null);
}

async function deleteOldest(_world: World, catalog: Catalog): Promise<void> {
  const rows = await catalog.snapshots();
  if (rows.length > 1 && rows[0] !== undefined) await catalog.deleteSnapshot(rows[0].id, 1);
}

/** Where the catalog is, and what is wrong with it on purpose. */
export type WorldKind =
  | { readonly catalog: "memory"; readonly planted: PlantedBug | null }
  | { readonly catalog: "sqlite"; readonly planted: "torn-roots" | null };

/** Runs one interleaving; throws when it loses something or fails a backup. Returns the number of turns. */
export async function interleave(seed: number, kind: WorldKind): Promise<number> {
  const scheduler = new Scheduler(seed);
  if (kind.catalog === "memory") {
    const catalog = new MemoryCatalog(bareContext(seed), kind.planted);
    return play(seed, scheduler, catalog, catalog);
  }
  const folder = mkdtempSync(path.join(existsSync(memoryFolder) ? memoryFolder : tmpdir(), "emanet-world-"));
  try {
    const [one, two] = [1, 2].map(() => openProcess(path.join(folder, "catalog"), seed, kind.planted, scheduler));
    if (one === undefined || two === undefined) throw new Error("two processes were asked for");
    const turns = await play(seed, scheduler, one, two);
    await one.close();
    await two.close();
    return turns;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The actors, spread over two processes. */
async function play(seed: number, scheduler: Scheduler, one: Catalog, two: Catalog): Promise<number> {
  const world = new World(seed, one);
  for (const name of ["base1", "base2", "base3"]) await upload(world, one, name);
  const { store, names } = world;
  const [a, b] = [scheduler.gated<Catalog>(one), scheduler.gated<Catalog>(two)];
  await scheduler.run([
    () => upload(world, a, "u1"),
    () => upload(world, b, "u2"),
    async () => {
      await deleteOldest(world, a);
      await deleteOldest(world, a);
    },
    () => deleteDeadPacks({ catalog: b, store, names }),
    () => rewrite(world, a, "r1"),
    () => repack(world, b, "r2"),
    () => deleteDeadPacks({ catalog: a, store, names }),
  ]);
  await world.assertSound();
  return scheduler.steps;
}

/** Where Linux keeps files in memory: a step of the catalog syncs several times. */
const memoryFolder = "/dev/shm";

/** A process's connection to the catalog in a file: other processes' steps come between any two of its statements. */
function openProcess(file: string, seed: number, planted: "torn-roots" | null, scheduler: Scheduler): SqliteCatalog {
  let opened: SqliteCatalog | null = null;
  const before = () => {
    if (opened !== null) scheduler.intrude(opened);
  };
  opened = new (planted === null ? SqliteCatalog : TornRoots)(file, bareContext(seed), before);
  return opened;
}

/** The bug that this was made to find: the generation is of a later moment than the bitmaps. */
class TornRoots extends SqliteCatalog {
  override async roots() {
    const [first, second] = await Promise.all([super.roots(), super.roots()]);
    return { generation: second.generation, reach: first.reach };
  }
}

/** Randomness for the catalog's incarnation; a env's context would hash for it. */
function bareContext(seed: number) {
  return { now: () => 0, random: (length: number) => Buffer.alloc(length, seed) };
}
