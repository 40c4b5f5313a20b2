/**
 * Kills the real service, its database and its clients while snapshots are uploaded, at moments that a seed chooses. Nothing that
 * was acknowledged may lack a byte; what was interrupted goes on or fails with its reason; and in the end nothing is left over.
 *
 * `npm run test:heavy` kills 200 times. EMANET_KILL_SEED chooses other moments, EMANET_KILL_ROUNDS another number, EMANET_KILL_LOG
 * names a file for the log.
 */

import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { seededRandom } from "../../packages/server/src/testing/seeded-random.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { nothingLeft } from "./testing/leftovers.ts";
import { leftWhenQuiet, passTime, UploadRounds } from "./testing/upload-rounds.ts";
import { Clients, type Kind, kinds, type Sending } from "./testing/uploads.ts";
import { World } from "./testing/world.ts";

const { EMANET_KILL_SEED = "22", EMANET_KILL_ROUNDS = "200", EMANET_KILL_LOG } = process.env;
const isHeavy = scaled(0, 1) === 1;

const victims = ["service", "postmaster", "backend", "client"] as const;
/** Of the uploads or of the service. `sent`: the body has arrived; `complete`: the last call of an agent. */
const moments = ["sending", "sent", "complete", "verifying", "starting", "stopping"] as const;

interface Plan {
  readonly victim: (typeof victims)[number];
  readonly moment: (typeof moments)[number];
  readonly kinds: readonly Kind[];
  /** After the moment has begun. */
  readonly delayMs: number;
}

const random = seededRandom(Number(EMANET_KILL_SEED));
const pick = <T>(from: readonly T[]): T => from[random.integer(from.length)] ?? assert.fail("empty");

/** The longest delay after each moment: about as long as what happens then. */
const longest: Readonly<Record<Plan["moment"], number>> = {
  ...{ sending: 1_500, sent: 300, complete: 60, verifying: 250, starting: 2_500, stopping: 400 },
};

/** A kill of the service or the postmaster costs a start: half of all. */
const weights = { service: 3, postmaster: 2, backend: 2, client: 3 } as const;
const weighted = victims.flatMap((victim) => Array.from({ length: weights[victim] }, () => victim));

function anyPlan(): Plan {
  const victim = pick(weighted);
  const isOfService = victim === "service" || victim === "postmaster";
  const moment = pick(moments.slice(0, isOfService ? 6 : 4));
  const first = moment === "complete" ? ("agent" as const) : pick(kinds);
  return { victim, moment, kinds: [first, pick(kinds)], delayMs: random.integer(longest[moment]) };
}

const plans = Array.from({ length: Number(EMANET_KILL_ROUNDS) }, anyPlan);

const fileBytes = 700_000;

class Kills {
  readonly world: World;
  readonly uploads: UploadRounds;
  readonly counts = new Map<string, number>();

  constructor(world: World, uploads: UploadRounds) {
    this.world = world;
    this.uploads = uploads;
  }

  async round(number: number, plan: Plan): Promise<void> {
    const sendings = plan.moment === "starting" ? [] : await this.uploads.start(number, plan.kinds);
    const reached = await this.#kill(plan, sendings);
    await this.world.ensureUp();
    await Promise.all(sendings.map(({ ended }) => ended));
    await this.world.ensureUp();
    await this.uploads.settle(sendings);
    this.#count(`${plan.victim} ${plan.moment}`);
    const told = sendings.map(({ upload, lines }) => `${upload.key}: ${lines.at(-1)?.slice(0, 90)}`);
    log(`${number} ${plan.victim} ${plan.moment} +${plan.delayMs} at [${reached}] ${told.join(" | ")}`);
  }

  /** Waits for the moment and kills. Returns what each client had said last. */
  async #kill({ victim, moment, delayMs }: Plan, sendings: readonly Sending[]): Promise<string> {
    const { world } = this;
    if (moment === "starting") {
      await world.stop();
      world.spawn();
    } else await reach(moment, sendings);
    if (moment === "stopping") world.main.signal("SIGTERM");
    await delay(delayMs);
    const reached = sendings.map(({ lines }) => (lines.at(-1) ?? "none").split(" ", 2).join(" ")).join(", ");
    await this.#strike(victim, sendings);
    return reached;
  }

  async #strike(victim: Plan["victim"], sendings: readonly Sending[]): Promise<void> {
    const { world } = this;
    if (victim === "client") return sendings[0]?.kill();
    const postmaster = victim === "postmaster" ? await world.postmaster() : null;
    const [backend] = victim === "backend" ? await world.backends() : [];
    const pid = postmaster ?? backend;
    if (pid !== undefined) return killIfThere(pid);
    world.main.signal("SIGKILL");
    await world.main.ended();
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}

/** Waits until an upload has come so far. One that ends before will do. */
async function reach(moment: Plan["moment"], sendings: readonly Sending[]): Promise<void> {
  const patterns: Partial<Record<Plan["moment"], RegExp>> = {
    ...{ sent: /^sent|^call (register|complete)/, complete: /^call complete/, verifying: /^answer/ },
  };
  const pattern = patterns[moment] ?? /^begun/;
  await Promise.race(
    sendings.filter(({ upload }) => moment !== "complete" || upload.kind === "agent").map((one) => one.said(pattern)),
  );
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

function log(line: string): void {
  if (EMANET_KILL_LOG !== undefined) appendFileSync(EMANET_KILL_LOG, `${line}\n`);
}

test(`${plans.length} kills of service, database and clients: nothing acknowledged lacks a byte, nothing is left over`, async (t) => {
  if (!isHeavy) return t.skip("only in the long form; the short one is the fault harness");
  const cleanup = inReverse(t);
  const folder = await temporaryFolder(cleanup);
  const world = await World.open(cleanup, folder);
  const clients = new Clients(cleanup, world, await temporaryFolder(cleanup), await world.registerAgent());
  const uploads = new UploadRounds({ service: world, clients, random, fileBytes });
  const kills = new Kills(world, uploads);
  for (const [number, plan] of plans.entries()) await kills.round(number, plan);
  await uploads.repeatInterrupted();
  await passTime(world, true);
  await uploads.assertAllWhole();
  const failures = await world.rows<{ code: string; count: number }>(
    "select failure_code as code, count(*)::int as count from emanet.snapshots where state <> 'completed' group by 1 order by 1",
  );
  for (const { code } of failures) assert.match(code, /^upload_(interrupted|abandoned)$/);
  const left = await leftWhenQuiet(world);
  const counts = [...kills.counts].sort().map(([what, count]) => `${what} ${count}`);
  const failed = failures.map(({ code, count }) => `${count} ${code}`);
  const summary = [`${uploads.acknowledged.length} acknowledged`, ...failed, ...counts].join(", ");
  log(summary);
  t.diagnostic(summary);
  assert.deepEqual(left, nothingLeft);
  await world.stop();
});
