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

function counting(inner: Catalog): Catalog {
  return new Proxy(inner, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const started = monotonicMs();
        const result: unknown = value.apply(target, args);
        if (!(result instanceof Promise)) return result;
        return result.then((answer) => {
          counts.longestStepMs = Math.max(counts.longestStepMs, Math.round(monotonicMs() - started));
          counted[String(name)]?.(answer);
          return answer;
        });
      };
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
    await actors.prune();
    counts.prunes++;
    await actors.rewrite(name());
    counts.rewrites++;
    await actors.repack(name());
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
