/**
 * Uses the catalog of a vault as one of several processes: uploads, a prune that also moves frames and replaces recipes, and
 * the expiry of leases, with pauses in transactions. It prints `running <steps>` now and then and `done <steps>` at the end, or ends with the first error.
 *
 *   use-catalog.ts <database target as JSON> <vault as JSON> <number of the process> <uploads at once> <milliseconds>
 */

import { setTimeout as delay } from "node:timers/promises";
import { CatalogError } from "@emanet/engine/catalog";
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

/** A pause within a transaction: so often, in percent, and shorter than this. */
const pausePercent = 5;
const maxPauseMs = 5;

const pools = await openPools({
  target: JSON.parse(target),
  log: silentLog,
  appConnections: Number(uploadsAtOnce) + 2,
});
const pausing = {
  together: (statements: readonly Statement[]) => cutAtRandom(statements, random),
  turn: async () => {
    if (random.chance(pausePercent)) await delay(random.below(maxPauseMs));
  },
};
const catalog = openCatalog(gatedTransactions(testTransactions(pools.app), pausing), JSON.parse(vault));
const shared = { prefix: `${number}-`, firstFrame: Number(number) * framesPerProcess };
const actors = simulatedProcess(Number(number), catalog, shared);

const steps = { uploads: 0, prunes: 0, rewrites: 0, repacks: 0, expiries: 0 };
let names = 0;
const name = () => `${number}-${names++}`;

async function upload(): Promise<void> {
  while (monotonicMs() < ends) {
    if (random.chance(20)) await actors.expiringUpload(name());
    else await actors.upload(name());
    steps.uploads++;
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
    steps.prunes++;
    await actors.rewrite(name());
    steps.rewrites++;
    await actors.repack(name());
    steps.repacks++;
    await actors.expire();
    steps.expiries++;
  }
}

/** A sign of life, for a test that runs for minutes. */
const signMs = 10_000;
const signs = setInterval(() => process.stdout.write(`running ${JSON.stringify(steps)}\n`), signMs);
await Promise.all([...Array.from({ length: Number(uploadsAtOnce) }, upload), upkeep()]);
clearInterval(signs);
await pools.close();
process.stdout.write(`done ${JSON.stringify(steps)}\n`);
