/** One vault with many items: how long its steps take, and how long they make others wait. */

import type { Catalog, Item, UploadUnit } from "@emanet/engine/catalog";
import { Bitmap } from "@emanet/engine/catalog";
import { frameRow, itemRow, snapshotOf, unitOf } from "@emanet/engine/testing";
import { makeVault, openCatalog } from "../../packages/server/src/catalog/testing/vaults.ts";
import type { Pools } from "../../packages/server/src/kernel/database/pool.ts";
import type { Transactions } from "../../packages/server/src/kernel/tx.ts";

const itemsPerUnit = 1_000;
const itemsPerFrame = 4;
const hooksPerItem = 4;
/** How often another step asks for the vault while a step is measured. */
const askMs = 20;

interface Measurement {
  readonly transactions: Transactions;
  readonly owner: Pools["owner"];
  readonly items: number;
}

const leaseUntil = Number.MAX_SAFE_INTEGER;
const scope = "lineage";

export async function measureBigVault({ transactions, owner, items }: Measurement): Promise<void> {
  const vault = await makeVault(transactions);
  const catalog = openCatalog(transactions, vault);
  const begin = (upload: string, base: string | null) =>
    catalog.beginUpload({ upload, owner: "a", leaseUntil, base, scope });
  await begin("watcher", null);
  const timed = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    const asking = askOften(catalog);
    const started = performance.now();
    const result = await work();
    const ms = performance.now() - started;
    const wait = await asking.stop();
    process.stdout.write(`${what}: ${ms.toFixed(0)} ms; another step took at most ${wait.toFixed(0)} ms\n`);
    return result;
  };
  await begin("first", null);
  const units: number[] = [];
  for (let first = 1; first <= items; first += itemsPerUnit) {
    const started = performance.now();
    await catalog.addUnit("first", 1, unit(first, Math.min(items, first + itemsPerUnit - 1)), first);
    units.push(performance.now() - started);
  }
  process.stdout.write(
    `${items} items in units of ${itemsPerUnit}: p50 ${median(units)} ms, last ${median(units.slice(-10))} ms\n`,
  );
  const all = ordinals(1, items);
  await timed("commit, all items held, scope lineage", () =>
    catalog.commit("first", 1, { ...snapshotOf("s1", []), reach: all }),
  );
  await owner.query("analyze");
  await printSizes(owner, items);
  await begin("second", "s1");
  await timed("acquire 1000 neighbours", () => acquire(catalog, "second", 1, 1000));
  await timed("acquire 1000 again", () => acquire(catalog, "second", 5001, 6000));
  await timed("commit with a base, scope lineage", () =>
    catalog.commit("second", 1, { ...snapshotOf("s2", []), reach: all }),
  );
  await catalog.addRebuilt({ snapshots: [{ ...snapshotOf("s0", []), reach: all }] });
  await begin("third", "s0");
  await timed("commit with a base that a rebuild found, scope lineage", () =>
    catalog.commit("third", 1, { ...snapshotOf("s3", []), reach: all }),
  );
  await timed("scan of all items", () => count(catalog.allItems()));
  await timed("scan of all frames", () => count(catalog.allFrames()));
  await timed("damage mark set", () => catalog.setDamaged([{ frame: 7, pack: "p1", generation: 0 }], true));
  await timed("begin after the mark", () => begin("fourth", "s1"));
  await timed("damage mark cleared", () => catalog.setDamaged([{ frame: 7, pack: "p1", generation: 0 }], false));
  for (const upload of ["watcher", "fourth"]) await catalog.endUpload(upload);
  for (const id of ["s0", "s1", "s2", "s3"]) await catalog.deleteSnapshot(id, 1);
  await begin("watcher", null);
  const packs = Array.from({ length: Math.ceil(items / itemsPerUnit) }, (_, i) => `p${i * itemsPerUnit + 1}`);
  const marking = await catalog.revision();
  await timed(`condemn ${packs.length} packs`, () => catalog.condemn(packs, marking));
  const dead = Array.from({ length: itemsPerUnit }, (_, i) => i + 1);
  await timed(`delete a pack with ${dead.length} items`, () => catalog.beginDelete("p1", marking, dead));
}

function unit(first: number, last: number): UploadUnit {
  const pack = `p${first}`;
  const items: Item[] = [];
  const hooks: [bigint, number][] = [];
  for (let ordinal = first; ordinal <= last; ordinal++) {
    items.push(itemRow(ordinal, frameOf(ordinal), { id: idOf(ordinal) }));
    for (let i = 0; i < hooksPerItem; i++) hooks.push([idOf(ordinal * hooksPerItem + i).readBigInt64BE(8), ordinal]);
  }
  const frames = new Set(items.map(({ ordinal }) => frameOf(ordinal)));
  const rows = [...frames].map((frame) => frameRow(frame, pack));
  return { ...unitOf(pack, rows, items), hooks };
}

const frameOf = (ordinal: number) => Math.ceil(ordinal / itemsPerFrame);

/** Looks random, as hashes do. */
function idOf(n: number): Buffer {
  const id = Buffer.alloc(32);
  for (let i = 0; i < 4; i++)
    id.writeBigUInt64BE(BigInt.asUintN(64, (BigInt(n) + BigInt(i)) * 0x9e37_79b9_7f4a_7c15n), i * 8);
  return id;
}

function ordinals(first: number, last: number): Buffer {
  const set = new Bitmap();
  for (let ordinal = first; ordinal <= last; ordinal++) set.add(ordinal);
  return set.encode();
}

async function acquire(catalog: Catalog, upload: string, first: number, last: number): Promise<void> {
  const ids = Array.from({ length: last - first + 1 }, (_, i) => idOf(first + i));
  const found = await catalog.acquire(upload, ids);
  if (found.includes(null)) throw new Error("an item was not found");
}

async function count(rows: AsyncIterable<unknown>): Promise<number> {
  let n = 0;
  for await (const _ of rows) n++;
  return n;
}

function median(values: readonly number[]): string {
  return (values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0).toFixed(0);
}

/** Renews a lease again and again. `stop` returns how long the slowest renewal took. */
function askOften(catalog: Catalog): { stop(): Promise<number> } {
  let isStopped = false;
  let longest = 0;
  const run = async () => {
    while (!isStopped) {
      const started = performance.now();
      await catalog.renewUpload("watcher", 1, leaseUntil);
      longest = Math.max(longest, performance.now() - started);
      await new Promise((resolve) => setTimeout(resolve, askMs));
    }
  };
  const running = run();
  running.catch(() => undefined);
  return {
    stop: async () => {
      isStopped = true;
      await running;
      return longest;
    },
  };
}

async function printSizes(owner: Pools["owner"], items: number): Promise<void> {
  const { rows } = await owner.query<{ name: string; bytes: string }>(
    `select relname as name, pg_total_relation_size(oid) as bytes from pg_class
      where relname in ('catalog_items', 'catalog_hooks', 'catalog_frames') order by 1`,
  );
  for (const { name, bytes } of rows)
    process.stdout.write(`${name}: ${(Number(bytes) / items).toFixed(0)} bytes per item\n`);
}
