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
import { isDeepStrictEqual } from "node:util";
import { inReverse } from "../../packages/server/src/testing/cleanup.ts";
import { scaled } from "../../packages/server/src/testing/scale.ts";
import { seededRandom } from "../../packages/server/src/testing/seeded-random.ts";
import { temporaryFolder } from "../../packages/server/src/testing/temporary-folder.ts";
import { findLeftovers, type Leftovers, nothingLeft } from "./testing/leftovers.ts";
import { assertWhole, Clients, type Kind, kinds, type Sending, Sources, type Upload } from "./testing/uploads.ts";
import { until, World } from "./testing/world.ts";

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

/** The short form: one of each victim. */
const fewPlans: readonly Plan[] = [
  { victim: "client", moment: "sending", kinds: ["tar"], delayMs: 150 },
  { victim: "backend", moment: "sent", kinds: ["zstd"], delayMs: 20 },
  { victim: "service", moment: "sending", kinds: ["agent", "gzip"], delayMs: 250 },
];

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

const plans = isHeavy ? Array.from({ length: Number(EMANET_KILL_ROUNDS) }, anyPlan) : fewPlans;

/** Bytes of the largest file in most rounds. Every tenth round has ten times as much: several packs and units. */
const fileBytes = scaled(200_000, 700_000);

class Kills {
  readonly world: World;
  readonly clients: Clients;
  readonly sources = new Sources(random, fileBytes);
  readonly acknowledged: { readonly id: string; readonly upload: Upload }[] = [];
  readonly interrupted: Upload[] = [];
  readonly counts = new Map<string, number>();
  #uploads = 0;

  constructor(world: World, clients: Clients) {
    this.world = world;
    this.clients = clients;
  }

  async round(number: number, plan: Plan): Promise<void> {
    const known = this.acknowledged.length;
    const sendings = plan.moment === "starting" ? [] : await this.#startUploads(number, plan.kinds);
    const reached = await this.#kill(plan, sendings);
    await this.world.ensureUp();
    await Promise.all(sendings.map(({ ended }) => ended));
    await this.world.ensureUp();
    for (const sending of sendings) this.#note(sending);
    for (const { id, upload } of this.acknowledged.slice(known)) await assertWhole(this.world, id, upload);
    this.#count(`${plan.victim} ${plan.moment}`);
    const told = sendings.map(({ upload, lines }) => `${upload.key}: ${lines.at(-1)?.slice(0, 90)}`);
    log(`${number} ${plan.victim} ${plan.moment} +${plan.delayMs} at [${reached}] ${told.join(" | ")}`);
  }

  async #startUploads(round: number, wanted: readonly Kind[]): Promise<Sending[]> {
    const times = round % 10 === 9 ? 10 : 1;
    const uploads = wanted.map((kind) => this.sources.next(`r${round}-${this.#uploads++}-${kind}`, kind, times));
    return Promise.all(uploads.map((upload) => this.clients.start(upload, 200 + random.integer(1_000))));
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

  #note(sending: Sending): void {
    const id = sending.acknowledged;
    if (id === null) this.interrupted.push(sending.upload);
    else this.acknowledged.push({ id, upload: sending.upload });
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  /** What was interrupted is sent again with its key. Every key has one completed snapshot then. */
  async repeatInterrupted(): Promise<void> {
    // The claims of dead processes end.
    await this.world.advance(61);
    for (const upload of this.interrupted) {
      const again = upload.kind === "agent" ? { ...upload, key: `${upload.key}-again` } : upload;
      const sending = await this.clients.start(again, 0);
      await sending.ended;
      const id = sending.acknowledged ?? assert.fail(`${upload.key}: ${sending.lines.join(" | ")}`);
      this.acknowledged.push({ id, upload: again });
    }
    const rows = await this.world.rows<{ key: string; count: number }>(
      `select external_reference as key, count(*)::int as count from emanet.snapshots
       where state = 'completed' and external_reference is not null group by 1 having count(*) > 1`,
    );
    assert.deepEqual(rows, [], "a key has one completed snapshot");
    const completed = await this.world.rows<{ id: string }>(
      "select id from emanet.snapshots where state = 'completed'",
    );
    const known = new Set(completed.map(({ id }) => id));
    assert.deepEqual(
      this.acknowledged.filter(({ id }) => !known.has(id)),
      [],
    );
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

const hour = 3600;

async function deadUploadsEnded(world: World): Promise<void> {
  await until("uploads of dead processes have failed", async () => {
    const open = await world.rows(
      "select 1 from emanet.snapshots where state = 'running' and upload_kind = 'one_call'",
    );
    if (open.length > 0) await world.advance(60);
    return open.length === 0 ? true : null;
  });
}

/** Ends what waits for hours: idle uploads, leases, content that nobody continues, temporary files. */
async function passTime(world: World): Promise<void> {
  // A process that died is noticed after a minute without its heartbeat, by the time of the database.
  if (isHeavy) await deadUploadsEnded(world);
  else await world.rows("update emanet.snapshots set alive_at = alive_at - interval '61 seconds'");
  await world.advance(25 * hour);
  await until("idle uploads are abandoned", async () => {
    const open = await world.rows("select 1 from emanet.snapshots where state in ('queued', 'running')");
    return open.length === 0 ? true : null;
  });
  // The ages of files follow the system's clock, which stays.
  await world.ageTemporaryFiles(8 * 24 * hour);
  await world.advance(8 * 24 * hour);
}

/** What is left over when jobs have had their time. */
async function leftWhenQuiet(world: World): Promise<Leftovers> {
  const quiet = until("nothing is left over", async () => {
    const found = await findLeftovers(world);
    return isDeepStrictEqual(found, nothingLeft) ? found : null;
  });
  return quiet.catch(() => findLeftovers(world));
}

test(`${plans.length} kills of service, database and clients: nothing acknowledged lacks a byte, nothing is left over`, async (t) => {
  const cleanup = inReverse(t);
  const folder = await temporaryFolder(cleanup);
  const world = await World.open(cleanup, folder);
  const clients = new Clients(cleanup, world, await temporaryFolder(cleanup), await world.registerAgent());
  const kills = new Kills(world, clients);
  for (const [number, plan] of plans.entries()) await kills.round(number, plan);
  await kills.repeatInterrupted();
  await passTime(world);
  for (const { id, upload } of kills.acknowledged) await assertWhole(world, id, upload);
  const failures = await world.rows<{ code: string; count: number }>(
    "select failure_code as code, count(*)::int as count from emanet.snapshots where state <> 'completed' group by 1 order by 1",
  );
  for (const { code } of failures) assert.match(code, /^upload_(interrupted|abandoned)$/);
  const left = await leftWhenQuiet(world);
  const counts = [...kills.counts].sort().map(([what, count]) => `${what} ${count}`);
  const failed = failures.map(({ code, count }) => `${count} ${code}`);
  const summary = [`${kills.acknowledged.length} acknowledged`, ...failed, ...counts].join(", ");
  log(summary);
  t.diagnostic(summary);
  assert.deepEqual(left, nothingLeft);
  await world.stop();
});
