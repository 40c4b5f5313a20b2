/**
 * The fault harness. Clients upload in every way, read back in every way, delete, hold, lock and change policies, and upkeep runs,
 * while processes are killed and stopped, answers are lost, the disk is full, the clock jumps, objects are damaged, hidden and brought
 * back, and the database is lost or put back to an older copy. An oracle knows every acknowledged byte and every promise of retention.
 *
 * `npm test` has 8 faults, `.ci/run` 50, `npm run test:heavy` 1000, on files and on a bucket. EMANET_HARNESS_SEED chooses another plan,
 * EMANET_HARNESS_FAULTS another number, EMANET_HARNESS_STORE=bucket a bucket. EMANET_HARNESS_LOG names a file for the log. A failure
 * names the command that draws the same plan. Processes run at their own pace, so a failure that needs an exact moment may need
 * several runs of it.
 */

// long: 30 s

import { appendFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { describe, type TestContext, test } from "node:test";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { seededRandom } from "../../packages/server/src/testing/seeded-random.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { startFaultyGateway } from "../../packages/storage/src/testing/faulty-gateway.ts";
import { findVersitygw, startVersitygw } from "../../packages/storage/src/testing/versitygw.ts";
import { openDisk } from "./testing/disk.ts";
import { Driver } from "./testing/driver.ts";
import { HarnessService } from "./testing/harness-service.ts";
import { makePlan, type Round } from "./testing/plan.ts";

const { EMANET_HARNESS_SEED, EMANET_HARNESS_FAULTS, EMANET_HARNESS_STORE, EMANET_HARNESS_LOG } = process.env;
const isHeavy = scaled(0, 1) === 1;
/** Seconds of CPU time each. `.ci/run` and the search for planted bugs have more. */
const fewFaults = 8;
/** Its few faults: a service that is killed, a database that is lost, an old copy, a full disk, lost answers, a store that is away, a clock both ways. */
const seedOfFew = 30;
const isFew = !isHeavy && EMANET_HARNESS_FAULTS === undefined;

interface Run {
  readonly seed: number;
  readonly faults: number;
  readonly store: "files" | "bucket";
}

const seed = Number(EMANET_HARNESS_SEED ?? (isFew ? seedOfFew : 25));
const heavyRuns: readonly Run[] = [
  { seed, faults: 250, store: "files" },
  { seed: seed + 1, faults: 250, store: "files" },
  { seed: seed + 2, faults: 250, store: "bucket" },
  { seed: seed + 3, faults: 250, store: "bucket" },
];
const oneRun: Run = {
  ...{ seed, faults: Number(EMANET_HARNESS_FAULTS ?? fewFaults) },
  store: EMANET_HARNESS_STORE === "bucket" ? "bucket" : "files",
};
const runs = isHeavy && EMANET_HARNESS_FAULTS === undefined ? heavyRuns : [oneRun];

describe("the fault harness", { concurrency: isHeavy ? 2 : 1 }, () => {
  for (const one of runs)
    test(`seed ${one.seed}: ${one.faults} faults on ${one.store}: no byte and no promise is lost`, (t) => run(t, one));
});

async function run(t: TestContext, { seed: own, faults, store }: Run): Promise<void> {
  const cleanup = inReverse(t);
  const [random, perPiece] = [seededRandom(own), seededRandom(own)];
  const log = (line: string) => {
    if (EMANET_HARNESS_LOG !== undefined) appendFileSync(EMANET_HARNESS_LOG, `${own}: ${line}\n`);
  };
  const folder = await temporaryFolder(cleanup);
  const disk = await openDisk(cleanup, await temporaryFolder(cleanup));
  if (!disk.isOwn) t.diagnostic("no right to mount a file system here: the disk is never full (skipped)");
  const opened = await openStore(t, store, disk.folder, perPiece);
  if (opened === null) return;
  const { gateway, ...place } = opened;
  const roles = isHeavy ? (["api", "worker"] as const) : (["all"] as const);
  let plan: readonly Round[] = [];
  let service: HarnessService | null = null;
  let at = 0;
  try {
    service = await HarnessService.open({ cleanup, folder, disk, roles, ...place });
    const parts = { cleanup, service, gateway, random, perPiece, folder: await temporaryFolder(cleanup), log };
    const driver = await Driver.open({ ...parts, fileBytes: scaled(30_000, 200_000) });
    plan = makePlan(random, { faults, isBucket: store === "bucket", mostStarts: scaled(2, faults) });
    for (const round of plan) await driver.round(at++, round);
    t.diagnostic(await driver.finish());
    await service.stop();
  } catch (error) {
    const last = at === 0 ? "" : ` after fault ${at} of ${plan.length} (${plan[at - 1]?.fault})`;
    log(`failed${last}: ${String(error)}\n${service?.refusals.join("\n") ?? ""}`);
    const settings = `EMANET_HARNESS_SEED=${own} EMANET_HARNESS_FAULTS=${faults} EMANET_HARNESS_STORE=${store}`;
    const command = `${settings} npm ${isHeavy ? "run test:heavy" : "test"} -- tests/harness/harness.test.ts`;
    const message = `${command} failed${last}: ${String(error)}`;
    // Before the clean-up takes the service away from clients that wait for it.
    service?.fail(new Error(message));
    throw new Error(message, { cause: error });
  }
}

async function openStore(
  t: TestContext,
  store: Run["store"],
  folder: string,
  random: { integer(below: number): number },
) {
  if (store === "files") {
    const objects = path.join(folder, "objects");
    return { gateway: null, objects, store: { EMANET_STORAGE: `file://${objects}` } };
  }
  const program = await findVersitygw();
  if (program === null) {
    t.skip("versitygw is not installed: run tools/system-packages.sh");
    return null;
  }
  const objects = path.join(folder, "s3", "bucket");
  await mkdir(objects, { recursive: true });
  const s3 = await startVersitygw(program, path.join(folder, "s3"));
  t.after(() => s3.kill());
  const steps = 1 << 20;
  const gateway = await startFaultyGateway(Number(new URL(s3.endpoint).port), () => random.integer(steps) / steps);
  t.after(() => gateway.close());
  return {
    ...{ gateway, objects },
    store: {
      EMANET_STORAGE: `s3://bucket/emanet?endpoint=${encodeURIComponent(`http://127.0.0.1:${gateway.port}`)}`,
      AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
    },
  };
}
