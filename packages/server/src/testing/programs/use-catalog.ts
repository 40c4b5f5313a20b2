/**
 * Uses the catalog of a vault as one of several processes: uploads, a prune that also moves frames and replaces recipes, and
 * the expiry of leases, with pauses in transactions. It prints `running <counts>` now and then and `done <counts>` at the
 * end, or ends with the first error.
 *
 *   use-catalog.ts <database target as JSON> <vault as JSON> <number of the process> <uploads at once> <milliseconds>
 */

import { setTimeout as delay } from "node:timers/promises";
import { type Catalog, CatalogError } from "@emanet/engine/catalog";
import { SeededRandom, simulatedProcess } from "@emanet/engine/testing";
import { cutAtRandom, gatedTransactions } from "../../catalog/testing/statement-scheduler.ts";
import { openCatalog, testTransactions } from "../../catalog/testing/vaults.ts";
import { monotonicMs } from "../../kernel/clock.ts";
import type { Statement } from "../../kernel/database/batch.ts";
import { openPools } from "../../kernel/database/pool.ts";
import { silentLog } from "../database.ts";

const [target = "", vault = "", number = "1", uploadsAtOnce = "1", milliseconds = "0"] = process.argv.slice(2);
const ends = monotonicMs() + Number(milliseconds);
const random = new SeededRandom(Number(number));

/** Snapshots that the processes keep. With more the checks would take the whole time. */
const keptSnapshots = 12;

/** Frames of a process have numbers of their own. */
const framesPerProcess = 1_000_000_000;

/** Not a test of speed: on a busy machine a process may stand still for seconds in the middle of a transaction. */
const waitMs = 25_000;

/** A pause within a transaction: so often, in percent, and shorter than this. */
const pausePercent = 5;
const maxPauseMs = 5;

const pools = await openPools({
  target: JSON.parse(target),
  log: silentLog,
  appConnections: Number(uploadsAtOnce) + 2,
  ownerConnections: Number(uploadsAtOnce) + 2,
  waitMs,
});
const pausing = {
  together: (statements: readonly Statement[]) => cutAtRandom(statements, random),
  turn: async () => {
    if (random.chance(pausePercent)) await delay(random.below(maxPauseMs));
  },
};
const counts = {
  uploads: 0,
  acquires: 0,
  revivals: 0,
  prunes: 0,
  deletions: 0,
  rewrites: 0,
  moves: 0,
  repacks: 0,
  expiries: 0,
  longestStepMs: 0,
};

/** Counts the statements that make condemned packs live. */
function countRevivals(text: string): string {
  if (/^update catalog_packs set state = 'live'/.test(text.trim())) counts.revivals++;
  return text;
}

/** Steps that are counted: by what they return. */
const counted: Readonly<Record<string, (result: unknown) => void>> = {
  acquire: () => counts.acquires++,
  beginDelete: (deleted) => (counts.deletions += Number(deleted)),
  moveFrames: (moved) => (counts.moves += Number(moved)),
};

/**
 * A lock beside the catalog's. Whatever raises the revision takes it shared, and a marking exclusively: while uploads commit all the
 * time no marking would be of the present revision, and nothing would ever be condemned. Uploads acquire, store and end meanwhile.
 */
async function enterGate(mode: "" | "_shared"): Promise<() => Promise<void>> {
  const client = await pools.owner.connect();
  await client.query(`select pg_advisory_lock${mode}(${gateClass}, 1)`);
  let isOpen = false;
  return async () => {
    if (isOpen) return;
    isOpen = true;
    await client.query(`select pg_advisory_unlock${mode}(${gateClass}, 1)`);
    client.release();
  };
}

const gateClass = 7799;

/** How often, in percent, a marking has the gate for itself. */
const gatedPercent = 70;

/** A collector waits up to this long before it deletes a pack that it has condemned: uploads find it and make it live again. */
const maxWaitForRevivalMs = 200;

/** Leaves the gate that this process has entered for its marking. */
let leaveGate = async () => {};

async function markingAlone<T>(work: () => Promise<T>): Promise<T> {
  if (random.chance(gatedPercent)) leaveGate = await enterGate("");
  try {
    return await work();
  } finally {
    await leaveGate();
  }
}

async function withGate<T>(work: () => Promise<T>): Promise<T> {
  const leave = await enterGate("_shared");
  try {
    return await work();
  } finally {
    await leave();
  }
}

function counting(inner: Catalog): Catalog {
  const step = async (name: string, run: () => Promise<unknown>) => {
    if (name === "beginDelete") await delay(random.below(maxWaitForRevivalMs));
    const started = monotonicMs();
    const answer = await run();
    counts.longestStepMs = Math.max(counts.longestStepMs, Math.round(monotonicMs() - started));
    counted[name]?.(answer);
    if (name === "condemn") await leaveGate();
    return answer;
  };
  return new Proxy(inner, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      // A scan is no promise.
      if (String(name).startsWith("all")) return value.bind(target);
      const run = (...args: unknown[]) => step(String(name), () => value.apply(target, args));
      return name === "commit" || name === "deleteSnapshot"
        ? (...args: unknown[]) => withGate(() => run(...args))
        : run;
    },
  });
}

const catalog = counting(
  openCatalog(gatedTransactions(testTransactions(pools.app), pausing, countRevivals), JSON.parse(vault)),
);
const shared = { prefix: `${number}-`, firstFrame: Number(number) * framesPerProcess };
const actors = simulatedProcess(Number(number), catalog, shared);

let names = 0;
const name = () => `${number}-${names++}`;

async function upload(): Promise<void> {
  while (monotonicMs() < ends) {
    if (random.chance(20)) await actors.expiringUpload(name());
    else await actors.upload(name());
    counts.uploads++;
    if ((await catalog.snapshotPage()).length > keptSnapshots) await actors.deleteAny().catch(ignoreUnknown);
  }
}

/** Another process has deleted the same snapshot. */
function ignoreUnknown(error: unknown): void {
  if (!(error instanceof CatalogError && error.code === "unknown_snapshot")) throw error;
}

async function upkeep(): Promise<void> {
  while (monotonicMs() < ends) {
    await markingAlone(() => actors.prune());
    counts.prunes++;
    await markingAlone(() => actors.rewrite(name()));
    counts.rewrites++;
    await withGate(() => actors.repack(name()));
    counts.repacks++;
    await actors.expire();
    counts.expiries++;
  }
}

/** A sign of life, for a test that runs for minutes. */
const signMs = 10_000;
const signs = setInterval(() => process.stdout.write(`running ${JSON.stringify(counts)}\n`), signMs);
await Promise.all([...Array.from({ length: Number(uploadsAtOnce) }, upload), upkeep()]);
clearInterval(signs);
await pools.close();
process.stdout.write(`done ${JSON.stringify(counts)}\n`);
