/**
 * Backups while upkeep runs without a pause: 20 clients back up in turn, first without upkeep, then while expiry, prune, scrub, heal and
 * repack of the same vault follow each other, then without again. At the end every snapshot that did not expire is read back and compared.
 */

import assert from "node:assert/strict";
import { createCipheriv, hash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { codeAt } from "../../packages/server/src/identity/factors/totp.ts";
import { keptConnections, sendHttp1, type TestAnswer } from "../../packages/server/src/testing/https.ts";
import { noSignInLimits, readFirstRun } from "../../packages/server/src/testing/people.ts";
import { type MeasuredSetup, startSetup } from "./measured-setup.ts";
import type { Part } from "./part.ts";
import type { ScaleName } from "./scale.ts";

interface Sizes {
  /** Of the vault before the measurement, for each source. */
  readonly nights: number;
  readonly fileBytes: number;
  /** With upkeep, and so long in all without. */
  readonly minutes: number;
}

const sizes: Readonly<Record<ScaleName, Sizes>> = {
  XS: { nights: 4, fileBytes: 500_000, minutes: 0.5 },
  S: { nights: 10, fileBytes: 2_000_000, minutes: 2 },
  M: { nights: 30, fileBytes: 4_000_000, minutes: 10 },
  L: { nights: 60, fileBytes: 16_000_000, minutes: 20 },
};

const clients = 20;
/** Each client begins a backup so often: the machine is busy and has a rest, as at night. */
const everyMs = 20_000;
/** Pages of a dump that a night changes: 1 of 50. */
const pageBytes = 8192;
const changedOneOf = 50;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** The clock is moved by a day so often: a tenth of the snapshots may expire on each day. */
const dayEveryMs = 60_000;
/** Kept of each source, in days; the rest expires when it is older than 14 days. */
const keepLast = 2;
/** The wait of a policy. */
const waitMs = 73 * hourMs;
const pollMs = 200;

/** The targets of the service. */
const mostTimes = 1.3;
const mostSpaceMinutes = 15;

interface Stored {
  readonly id: string;
  readonly digest: string;
}

/** The dump of a source, changed a little each night. */
class Dump {
  readonly #bytes: Buffer;
  #night = 0;

  constructor(seed: number, bytes: number) {
    const key = Buffer.alloc(16);
    key.writeUInt32LE(seed);
    this.#bytes = createCipheriv("aes-128-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(bytes));
  }

  next(): Buffer {
    this.#night++;
    for (let page = this.#night % changedOneOf; page * pageBytes < this.#bytes.length; page += changedOneOf)
      this.#bytes.writeUInt32LE(this.#night, page * pageBytes);
    return Buffer.from(this.#bytes);
  }
}

class Office {
  readonly #setup: MeasuredSetup;
  readonly #dumps: readonly Dump[];
  readonly #agent: ReturnType<typeof keptConnections>;
  readonly stored: Stored[] = [];
  #token: Promise<{ readonly authorization: string }> | null = null;
  #offsetMs = 0;
  refused = 0;

  constructor(setup: MeasuredSetup, seed: number, fileBytes: number) {
    this.#setup = setup;
    this.#dumps = Array.from({ length: clients }, (_, at) => new Dump(seed * clients + at, fileBytes));
    this.#agent = keptConnections(setup.ca);
  }

  close(): void {
    this.#agent.destroy();
  }

  async send(
    method: string,
    path: string,
    body?: Buffer | string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<TestAnswer> {
    for (;;) {
      this.#token ??= this.#setup.authorization();
      const request = { method, headers: { ...(await this.#token), ...headers }, ...(body !== undefined && { body }) };
      const answer = await sendHttp1(`${this.#setup.url}${path}`, this.#setup.ca, request, this.#agent);
      if (answer.status !== 401) return answer;
      // The clock was moved by a day.
      this.#token = null;
    }
  }

  /** Backs a source up. Returns the seconds that it took; null if it was refused. */
  async backUp(source: number): Promise<number | null> {
    const body = this.#dumps[source]?.next() ?? assert.fail("no source");
    const began = performance.now();
    const target = `/v1/snapshots?source=s${source}&path=LOGODB.bak`;
    const answer = await this.send("POST", target, body, { "content-type": "application/octet-stream" });
    const seconds = (performance.now() - began) / 1000;
    if (answer.status !== 201) {
      this.refused++;
      return null;
    }
    this.stored.push({ id: JSON.parse(answer.body.toString()).id, digest: hash("sha256", body) });
    return seconds;
  }

  async moveClock(ms: number): Promise<void> {
    this.#offsetMs += ms;
    await this.#setup.rows(
      `insert into emanet.sandbox_clock (id, offset_ms) values (1, $1)
       on conflict (id) do update set offset_ms = excluded.offset_ms`,
      [this.#offsetMs],
    );
    await this.#setup.rows("select pg_notify('emanet_jobs', 'clock')");
    this.#token = null;
  }

  now(): Date {
    return new Date(Date.now() + this.#offsetMs);
  }

  /** An owner lets all but the newest days go, in 72 hours. */
  async setPolicy(vaultId: string): Promise<void> {
    const { demo } = await readFirstRun(this.#setup.dataFolder);
    const { email, password, totp_secret: secret } = demo;
    const login = JSON.stringify({ email, password, totp_code: codeAt(secret, this.now()), client: "dashboard" });
    const json = { "content-type": "application/json" };
    const { url, ca } = this.#setup;
    const signedIn = await sendHttp1(`${url}/v1/auth/login`, ca, { method: "POST", headers: json, body: login });
    const headers = { ...json, authorization: `Bearer ${JSON.parse(signedIn.body.toString()).access_token}` };
    const target = `${url}/v1/vaults/${vaultId}/retention`;
    const before = await sendHttp1(target, ca, { headers });
    const body = JSON.stringify({ keep_last: keepLast });
    const match = { "if-match": String(before.headers.etag) };
    const put = await sendHttp1(target, ca, { method: "PUT", headers: { ...headers, ...match }, body });
    assert.equal(put.status, 202, put.body.toString());
  }
}

/** Backs up with all clients in turn until the time is over. Returns the seconds of each backup. */
async function backUpFor(office: Office, milliseconds: number): Promise<number[]> {
  const seconds: number[] = [];
  const began = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async (_, source) => {
      for (let at = (source * everyMs) / clients; at < milliseconds; at += everyMs) {
        await delay(Math.max(0, at - (performance.now() - began)));
        const took = await office.backUp(source);
        if (took !== null) seconds.push(took);
      }
    }),
  );
  return seconds;
}

const tasks = ["retention.apply", "snapshots.prune_vault", "upkeep.run_vault"] as const;

interface Place {
  readonly account_id: string;
  readonly id: string;
}

/** Runs upkeep of the vault again and again until it is stopped. */
class Upkeep {
  readonly #setup: MeasuredSetup;
  readonly #office: Office;
  readonly #place: Place;
  readonly runs = { "retention.apply": 0, "snapshots.prune_vault": 0, "upkeep.run_vault": 0 };
  readonly #expiredAt = new Map<string, number>();
  /** The longest time between the expiry of a snapshot and the removal of what only it needed. */
  spaceSeconds = 0;
  isOver = false;

  constructor(setup: MeasuredSetup, office: Office, place: Place) {
    this.#setup = setup;
    this.#office = office;
    this.#place = place;
  }

  get expired(): number {
    return this.#expiredAt.size;
  }

  async run(): Promise<void> {
    let movedAt = performance.now();
    while (!this.isOver)
      for (const task of tasks) {
        if (performance.now() - movedAt > dayEveryMs) {
          await this.#office.moveClock(dayMs);
          movedAt = performance.now();
        }
        await this.#once(task);
      }
    // What expired last is removed by the next prune.
    while (await this.#watch()) await this.#once("snapshots.prune_vault");
  }

  async #once(task: (typeof tasks)[number]): Promise<void> {
    const { account_id: accountId, id } = this.#place;
    // Every run reads every pack and writes again what is scattered.
    const text = "update emanet.vaults set scrubbed_at = $2, repacked_at = null, upkeep_paused_at = null where id = $1";
    await this.#setup.rows(text, [id, new Date(this.#office.now().getTime() - 30 * dayMs)]);
    const payload = JSON.stringify({ accountId, vaultId: id });
    await this.#setup.rows("select emanet.enqueue_job(gen_random_uuid(), $1, $2, $3, $4, 3, $5, $5)", [
      ...[task, payload, id, `upkeep ${id}`, this.#office.now()],
    ]);
    const waiting = "select from emanet.jobs where task = $1 and failed_at is null and run_at <= $2";
    while ((await this.#setup.rows(waiting, [task, this.#office.now()])).length > 0) {
      await this.#watch();
      await delay(pollMs);
    }
    this.runs[task]++;
  }

  /** Returns whether something has expired and is not removed yet. */
  async #watch(): Promise<boolean> {
    const rows = await this.#setup.rows<{ id: string; is_pruned: boolean }>(
      "select id, pruned_at is not null as is_pruned from emanet.snapshots where state = 'expired'",
    );
    let isWaiting = false;
    for (const { id, is_pruned: isPruned } of rows) {
      const since = this.#expiredAt.get(id);
      if (since === undefined) this.#expiredAt.set(id, performance.now());
      if (!isPruned) isWaiting = true;
      else if (since !== undefined && since !== Number.POSITIVE_INFINITY) {
        this.spaceSeconds = Math.max(this.spaceSeconds, (performance.now() - since) / 1000);
        this.#expiredAt.set(id, Number.POSITIVE_INFINITY);
      }
    }
    return isWaiting;
  }
}

/** Reads back what did not expire. Returns how many, and throws if one differs. */
async function compare(setup: MeasuredSetup, office: Office): Promise<number> {
  const rows = await setup.rows<{ id: string }>("select id from emanet.snapshots where state = 'completed'");
  const there = new Set(rows.map(({ id }) => id));
  for (const { id, digest } of office.stored.filter((one) => there.has(one.id))) {
    const { status, body } = await office.send("GET", `/v1/snapshots/${id}/files/LOGODB.bak`);
    assert.ok(status === 200 && hash("sha256", body) === digest, `${id} differs: ${status}`);
  }
  return there.size;
}

function percentile(values: readonly number[], part: number): number {
  return [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? Number.NaN;
}

async function prepare(setup: MeasuredSetup, office: Office, nights: number): Promise<Place> {
  for (let night = 0; night < nights; night++) {
    await Promise.all(Array.from({ length: clients }, (_, source) => office.backUp(source)));
    await office.moveClock(dayMs);
  }
  // The newest nights are older than 14 days.
  await office.moveClock(15 * dayMs);
  const [place] = await setup.rows<Place>(
    "select account_id, id from emanet.vaults where kind = 'default' and keys_made_at is not null",
  );
  assert.ok(place !== undefined);
  await setup.rows("update emanet.vaults set upkeep_paused_at = now()");
  await office.setPolicy(place.id);
  await setup.untilVerified();
  return place;
}

export const upkeep: Part = {
  name: "upkeep",
  async run({ cleanups, scale, seed, log }) {
    const { nights, fileBytes, minutes } = sizes[scale];
    const unlimited = { ...noSignInLimits, EMANET_LIMIT_PACKAGE: "1000000/60", EMANET_LIMIT_TOKEN: "1000000/60" };
    const setup = await startSetup({ cleanups, settings: { EMANET_PROFILE: "sandbox", ...unlimited } });
    const office = new Office(setup, seed, fileBytes);
    cleanups.push(() => office.close());
    log(`${clients} sources, ${nights} nights`);
    const place = await prepare(setup, office, nights);
    const spanMs = minutes * 60_000;
    log(`${minutes / 2} minutes without upkeep`);
    const without = await backUpFor(office, spanMs / 2);
    await setup.untilVerified();
    await office.moveClock(waitMs);
    log(`${minutes} minutes with upkeep`);
    const running = new Upkeep(setup, office, place);
    const upkeepEnded = running.run();
    const during = await backUpFor(office, spanMs);
    running.isOver = true;
    await upkeepEnded;
    await setup.rows("update emanet.vaults set upkeep_paused_at = now()");
    await setup.untilVerified();
    log(`${minutes / 2} minutes without upkeep`);
    without.push(...(await backUpFor(office, spanMs / 2)));
    await setup.untilVerified();
    const equal = await compare(setup, office);
    const [p95without, p95during] = [percentile(without, 0.95), percentile(during, 0.95)];
    const times = p95during / p95without;
    const { "retention.apply": applied, "snapshots.prune_vault": pruned, "upkeep.run_vault": kept } = running.runs;
    return [
      ...["## Backups while upkeep runs", ""],
      `${clients} clients, a dump of ${fileBytes / 1e6} MB every ${everyMs / 1000} s each; the vault has ${nights} nights of each.`,
      ...["", "| | backups | p50 s | p95 s |", "|---|---|---|---|"],
      `| without upkeep | ${without.length} | ${percentile(without, 0.5).toFixed(3)} | ${p95without.toFixed(3)} |`,
      `| with upkeep for ${minutes} minutes | ${during.length} | ${percentile(during, 0.5).toFixed(3)} | ${p95during.toFixed(3)} |`,
      "",
      `p95 ${times.toFixed(2)} × (target ≤ ${mostTimes}); ${office.refused} refused backups; ${equal} snapshots read back, all equal.`,
      `Runs: ${applied} of retention, ${pruned} of prune, ${kept} of scrub, heal and repack. ${running.expired} snapshots expired; ` +
        `their space was returned after ${running.spaceSeconds.toFixed(0)} s at most (target ≤ ${mostSpaceMinutes} minutes).`,
      "",
    ].join("\n");
  },
};
