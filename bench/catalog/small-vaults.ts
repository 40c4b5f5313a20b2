/** Many small vaults in one database: whether steps, memory of connections and plans stay the same. */

import { readFileSync } from "node:fs";
import type { Catalog } from "@emanet/engine/catalog";
import { begin, frameRow, idOf, itemRow, snapshotOf, unitOf } from "@emanet/engine/testing";
import { makeVault, openCatalog } from "../../packages/server/src/catalog/testing/vaults.ts";
import type { Pools } from "../../packages/server/src/kernel/database/pool.ts";
import type { Transactions } from "../../packages/server/src/kernel/tx.ts";

const snapshotsPerVault = 3;
const itemsPerSnapshot = 20;
const measuredVaults = 50;
const parts = 6;

interface Measurement {
  readonly transactions: Transactions;
  readonly owner: Pools["owner"];
  readonly vaults: number;
}

export async function measureSmallVaults({ transactions, owner, vaults }: Measurement): Promise<void> {
  const all: Catalog[] = [];
  for (let part = 0; part < parts; part++) {
    while (all.length < (vaults * (part + 1)) / parts) {
      const catalog = openCatalog(transactions, await makeVault(transactions));
      for (let n = 0; n < snapshotsPerVault; n++) await addSnapshot(catalog, all.length, n);
      all.push(catalog);
    }
    const beginMs: number[] = [];
    const acquireMs: number[] = [];
    const commitMs: number[] = [];
    for (let i = 0; i < measuredVaults; i++) {
      const vault = Math.floor((i * all.length) / measuredVaults);
      const catalog = all[vault];
      if (catalog === undefined) continue;
      const upload = `measured ${part}`;
      beginMs.push(await time(() => begin(catalog, upload, { base: "s0" })));
      acquireMs.push(await time(() => catalog.acquire(upload, [idIn(vault, 1), idIn(vault, 2)])));
      commitMs.push(await time(() => catalog.commit(upload, 1, snapshotOf(upload, [1, 2]))));
    }
    const line = [all.length, ...[beginMs, acquireMs, commitMs].map(spread), await backendMegabytes(owner)];
    process.stdout.write(
      `${line[0]} vaults: begin ${line[1]}, acquire ${line[2]}, commit ${line[3]} ms; backends ${line[4]} MB\n`,
    );
  }
}

/** Ids are keyed: no two vaults have the same. */
function idIn(vault: number, ordinal: number): Buffer {
  const id = idOf(ordinal);
  id.writeUInt32BE(vault);
  return id;
}

async function addSnapshot(catalog: Catalog, vault: number, n: number): Promise<void> {
  const first = n * itemsPerSnapshot + 1;
  const items = Array.from({ length: itemsPerSnapshot }, (_, i) =>
    itemRow(first + i, n + 1, { id: idIn(vault, first + i) }),
  );
  await begin(catalog, `u${n}`);
  await catalog.addUnit(`u${n}`, 1, unitOf(`p${n}`, [frameRow(n + 1, `p${n}`)], items));
  await catalog.commit(
    `u${n}`,
    1,
    snapshotOf(
      `s${n}`,
      items.map(({ ordinal }) => ordinal),
    ),
  );
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Smallest, median and 95th percentile. */
function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  return [0, 0.5, 0.95].map((share) => (sorted[Math.floor(share * sorted.length)] ?? 0).toFixed(1)).join(" / ");
}

/** The private memory of each connection of the service. */
async function backendMegabytes(owner: Pools["owner"]): Promise<string> {
  const { rows } = await owner.query<{ pid: number }>(
    "select pid from pg_stat_activity where datname = current_database() and application_name = 'emanet'",
  );
  const kilobytes = rows.map(({ pid }) =>
    Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]),
  );
  return kilobytes.map((kb) => (kb / 1024).toFixed(1)).join(", ");
}
