/**
 * The service of the fault harness: real processes of `main.ts`, a PostgreSQL of its own and an object store, each of which can be
 * killed, stopped, filled, damaged and put back. Clients reach it through a proxy that loses and delays answers. The clock is the
 * sandbox's, and is moved in the database.
 */

import assert from "node:assert/strict";
import { cp, mkdir, rename, rm, symlink, utimes } from "node:fs/promises";
import path from "node:path";
import { codeAt } from "../../../packages/server/src/identity/factors/totp.ts";
import { withConnection } from "../../../packages/server/src/kernel/database/pool.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../../packages/server/src/kernel/postgres/embedded.ts";
import { type Cleanup, silentLog } from "../../../packages/server/src/testing/database.ts";
import { keptConnections, sendHttp1, type TestAnswer } from "../../../packages/server/src/testing/https.ts";
import {
  type Client,
  type ClientCall,
  clientAt,
  type MainProcess,
  sandboxSettings,
  startMain,
} from "../../../packages/server/src/testing/main-process.ts";
import { OutsideView } from "../../../packages/server/src/testing/outside-view.ts";
import { type FirstRunFile, readFirstRun } from "../../../packages/server/src/testing/people.ts";
import { type Line, type LineRules, startLine } from "../../../packages/storage/src/testing/tcp-proxy.ts";
import { filesIn } from "../../crash/testing/leftovers.ts";
import { freePort, ServiceUnderTest, unlimited, until } from "../../crash/testing/service-under-test.ts";
import type { Disk } from "./disk.ts";

export type RoleName = "all" | "api" | "worker";

interface Options {
  readonly cleanup: Cleanup;
  readonly folder: string;
  /** Holds the objects and the spools. */
  readonly disk: Disk;
  readonly roles: readonly RoleName[];
  /** Settings of the object store. */
  readonly store: Readonly<Record<string, string>>;
  /** The folder in which the store has its objects. */
  readonly objects: string;
}

/** A code of the authenticator is accepted once, and the next one comes half a minute later. */
const codeMs = 30_000;
/** A token lives for 15 minutes; an act that cannot be undone needs a sign-in of the last ten. */
const tokenMs = 4 * 60_000;
/** Processes with two pools each, and what looks in from outside. */
const maxConnections = 120;

/** Enough to see what one request that is repeated is told. */
const keptRefusals = 5;

type Headers = { readonly authorization: string };

export class HarnessService extends ServiceUnderTest {
  readonly #options: Options;
  readonly #ports = new Map<RoleName, number>();
  readonly #running = new Map<RoleName, MainProcess>();
  readonly #view: OutsideView;
  readonly #tokens = new Map<string, { readonly headers: Headers; readonly until: number }>();
  /** Changes when tokens that are on their way may be refused. */
  #tokenEpoch = 0;
  readonly rules: LineRules = {};
  #postgres: EmbeddedPostgres;
  #firstRun: FirstRunFile | null = null;
  #client: Client | null = null;
  #offsetMs = 0;
  /** The latest time that the clock has shown. */
  #latest = 0;
  /** When the clock was set back, by the real time, and what it showed then. */
  readonly #setBack: { readonly at: number; readonly shown: number }[] = [];
  /** How often the database was replaced by another one. */
  databases = 0;
  /** The last requests that had no answer or one that says "not now": what the service said when a test ends with "not in time". */
  readonly #refusals: string[] = [];
  readonly #failed = new AbortController();

  private constructor(options: Options, postgres: EmbeddedPostgres) {
    super();
    this.#options = options;
    this.#postgres = postgres;
    options.cleanup.after(() => this.#postgres.stop());
    this.#view = new OutsideView(options.cleanup);
  }

  static async open(options: Options): Promise<HarnessService> {
    for (const name of ["database", ...options.roles]) await mkdir(path.join(options.folder, name));
    const service = new HarnessService(options, await startPostgres(options.folder));
    for (const role of options.roles) service.#ports.set(role, role === "worker" ? 0 : await freePort());
    const port = service.#ports.get("api") ?? service.#ports.get("all") ?? assert.fail("nobody answers requests");
    const line = await startLine(port, service.rules);
    options.cleanup.after(() => line.close());
    await service.ensureUp();
    await service.#connect(line);
    return service;
  }

  async #connect({ port }: Line): Promise<void> {
    const url = `https://127.0.0.1:${port}`;
    const made = await clientAt(url, await this.caFile);
    const agent = keptConnections(made.ca);
    this.#options.cleanup.after(async () => agent.destroy());
    this.#client = {
      ...made,
      send: (method, target, { json, ...call } = {}) => {
        const type = json === undefined ? {} : { "content-type": "application/json" };
        const body = json === undefined ? {} : { body: JSON.stringify(json) };
        const request = { ...call, ...body, method, headers: { ...type, ...call.headers } };
        return sendHttp1(`${url}${target}`, made.ca, request, agent);
      },
    };
  }

  /** Aborts when the run has failed: clients that come again would come for ever. */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  fail(error: unknown): void {
    this.#failed.abort(error);
  }

  /** Asks until the answer is not null, or the run has failed. */
  until<T>(what: string, ask: () => Promise<T | null>): Promise<T> {
    return until(what, ask, this.failed);
  }

  get client(): Client {
    return this.#client ?? assert.fail("not started");
  }

  get #dataDir(): string {
    return path.join(this.#options.folder, this.#options.roles[0] ?? "all");
  }

  get caFile(): Promise<string> {
    return this.firstRun().then(({ ca_file: file }) => path.resolve(this.#dataDir, file));
  }

  async firstRun(): Promise<FirstRunFile> {
    this.#firstRun ??= await readFirstRun(this.#dataDir);
    return this.#firstRun;
  }

  #settings(role: RoleName): Record<string, string> {
    const { folder, disk, store } = this.#options;
    const host = encodeURIComponent(socketLink(folder));
    return {
      ...sandboxSettings(path.join(folder, role)),
      ...unlimited,
      ...store,
      EMANET_DATABASE_URL: `postgresql://emanet@/emanet?host=${host}&port=5432`,
      EMANET_SPOOL_DIR: path.join(disk.folder, `spool-${role}`),
      EMANET_LISTEN: `127.0.0.1:${this.#ports.get(role) ?? 0}`,
      EMANET_LOG_LEVEL: "warn",
      EMANET_DRAIN_SECONDS: "2",
    };
  }

  #spawn(role: RoleName): MainProcess {
    const main = startMain(this.#options.cleanup, { words: [role], settings: this.#settings(role) });
    this.#running.set(role, main);
    return main;
  }

  get roles(): readonly RoleName[] {
    return this.#options.roles;
  }

  process(role: RoleName): MainProcess {
    return this.#running.get(role) ?? assert.fail("not started");
  }

  async kill(role: RoleName): Promise<void> {
    this.process(role).signal("SIGKILL");
    await this.process(role).ended();
  }

  async killAll(): Promise<void> {
    for (const role of this.#running.keys()) await this.kill(role);
  }

  /** Starts what has ended, and waits until requests are answered. A start may be refused while its database starts. */
  async ensureUp(): Promise<void> {
    for (const role of this.#options.roles)
      await this.until(`${role} runs`, async () => {
        const main = this.#running.get(role);
        if (main !== undefined && !main.hasEnded()) return true;
        return this.#spawn(role)
          .ready()
          .then(
            () => true,
            (error: unknown) => {
              if (/database_|storage_of|older than/.test(String(error))) throw error;
              return null;
            },
          );
      });
    if (this.#client === null) return;
    await this.until("the service is ready", async () => {
      const answer = await this.client.send("GET", "/health/ready").catch(() => null);
      return answer?.status === 200 ? true : null;
    });
  }

  async stop(): Promise<void> {
    for (const main of this.#running.values()) main.signal("SIGTERM");
    for (const [role, main] of this.#running)
      assert.deepEqual(await main.ended(), { code: 0, signal: null }, `${role}: ${main.stderr().slice(-2000)}`);
  }

  /** Runs a command of an operator while no process serves. Returns its exit code and what it printed. */
  async command(...words: readonly string[]): Promise<{ readonly code: number | null; readonly text: string }> {
    const role = this.#options.roles[0] ?? "all";
    const main = startMain(this.#options.cleanup, { words, settings: this.#settings(role) });
    const { code } = await main.ended();
    return { code, text: `${main.stdout()}${main.stderr()}` };
  }

  /** A command that is killed so much later, unless it has ended before. */
  async killedCommand(milliseconds: number, ...words: readonly string[]): Promise<void> {
    const role = this.#options.roles[0] ?? "all";
    const main = startMain(this.#options.cleanup, { words, settings: this.#settings(role) });
    const timer = setTimeout(() => main.signal("SIGKILL"), milliseconds);
    await main.ended();
    clearTimeout(timer);
  }

  // The database.

  get postmaster(): number {
    return this.#postgres.pid;
  }

  async backends(): Promise<readonly number[]> {
    const text = "select pid from pg_stat_activity where usename like 'emanet%' order by pid";
    return (await this.rows<{ pid: number }>(text)).map(({ pid }) => pid);
  }

  /** Kills PostgreSQL. `between` runs while its files are at rest. */
  async restartPostgres(between: (cluster: string) => Promise<void> = async () => undefined): Promise<void> {
    process.kill(this.#postgres.pid, "SIGKILL");
    await this.#postgres.lost;
    await this.#postgres.stop().catch(() => undefined);
    const database = path.join(this.#options.folder, "database");
    await between(path.join(database, "postgres"));
    this.#postgres = await startPostgres(this.#options.folder);
  }

  /** A copy of the database's files, as a backup of them would be. */
  async dump(name: string): Promise<void> {
    await this.restartPostgres((cluster) => cp(cluster, this.#dumpFolder(name), { recursive: true }));
  }

  /** Puts an old copy in place of the database. */
  async restoreDump(name: string): Promise<void> {
    await this.restartPostgres(async (cluster) => {
      await rm(cluster, { recursive: true });
      await rename(this.#dumpFolder(name), cluster);
    });
    await this.#setClock();
  }

  #dumpFolder(name: string): string {
    return path.join(this.#options.folder, `dump-${name}`);
  }

  async dropDatabase(): Promise<void> {
    await withConnection(this.#postgres.admin, (client) => client.query("drop database emanet with (force)"));
    await this.restartPostgres();
  }

  async rows<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const target = { ...this.#postgres.admin, database: "emanet" };
    return this.#view.rows<Row>(target, text, values);
  }

  // The clock.

  now(): number {
    const now = Date.now() + this.#offsetMs;
    this.#latest = Math.max(this.#latest, now);
    return now;
  }

  /** The latest time that the clock has shown, whatever it shows now. */
  latest(): number {
    this.now();
    return this.#latest;
  }

  /** The earliest time that the clock has shown since a moment of the real one. A lease that was given then ends early, when the clock is right again. */
  earliestSince(moment: number): number {
    return Math.min(this.now(), ...this.#setBack.filter(({ at }) => at >= moment).map(({ shown }) => shown));
  }

  /** Moves the clock, also backwards. */
  async moveClock(ms: number): Promise<void> {
    this.now();
    this.#offsetMs += ms;
    if (ms < 0) this.#setBack.push({ at: Date.now(), shown: this.now() });
    await this.#setClock();
    // Tokens of a later time are refused, and one that was given just before may have ended.
    if (ms < 0 || ms > tokenMs) this.forgetTokens();
  }

  /** Gives the database the time that the harness has: an old copy of it has an older one, a new one none. */
  async #setClock(): Promise<void> {
    await this.rows(
      `insert into emanet.sandbox_clock (id, offset_ms) values (1, $1)
       on conflict (id) do update set offset_ms = excluded.offset_ms`,
      [this.#offsetMs],
    );
    await this.rows("select pg_notify('emanet_jobs', 'clock')");
  }

  /** After a rebuild, which has made the tables again, or a recovery. */
  async restoreClock(): Promise<void> {
    this.databases++;
    await this.#setClock();
    this.forgetTokens();
  }

  override advance(seconds: number): Promise<void> {
    return this.moveClock(seconds * 1000);
  }

  // Requests.

  override auth(): Promise<Headers> {
    return this.#token("client", async () => {
      const { demo } = await this.firstRun();
      const basic = Buffer.from(`${demo.client_id}:${demo.client_secret}`).toString("base64");
      return this.client.send("POST", "/oauth2/token", {
        body: "grant_type=client_credentials",
        headers: { authorization: `Basic ${basic}`, "content-type": "application/x-www-form-urlencoded" },
      });
    });
  }

  /** The account's owner, with a fresh second factor. Throws if the service does not answer. */
  owner(): Promise<Headers> {
    return this.#token("owner", async () => {
      const { email, password, totp_secret: secret } = (await this.firstRun()).demo;
      await this.moveClock(codeMs + 1000);
      const totp_code = codeAt(secret, new Date(this.now()));
      return this.client.send("POST", "/v1/auth/login", { json: { email, password, totp_code, client: "dashboard" } });
    });
  }

  async #token(who: string, ask: () => Promise<TestAnswer>): Promise<Headers> {
    const known = this.#tokens.get(who);
    if (known !== undefined && this.now() < known.until) return known.headers;
    const epoch = this.#tokenEpoch;
    const answer = await ask();
    if (answer.status !== 200) throw new Error(`${who} gets no token: ${answer.status} ${answer.body}`);
    const headers = { authorization: `Bearer ${JSON.parse(answer.body.toString()).access_token}` };
    // One that was given before the clock was moved, or before a recovery, may be refused already.
    if (epoch === this.#tokenEpoch) this.#tokens.set(who, { headers, until: this.now() + tokenMs });
    return headers;
  }

  /** Tokens that the service refuses: it was recovered, or the clock was moved. */
  forgetTokens(): void {
    this.#tokenEpoch++;
    this.#tokens.clear();
  }

  override signIn(who: "demo" | "staff"): Promise<Headers> {
    assert.equal(who, "demo");
    return this.owner();
  }

  /** Null if no answer came, or one that says that the service cannot now. Throws when the run has failed. */
  async ask(
    method: string,
    target: string,
    call: ClientCall & { readonly as?: "owner" } = {},
  ): Promise<TestAnswer | null> {
    this.failed.throwIfAborted();
    try {
      const bearer = call.as === "owner" ? await this.owner() : await this.auth();
      const answer = await this.client.send(method, target, { ...call, headers: { ...bearer, ...call.headers } });
      if (answer.status === 401 || isStepUp(answer)) this.forgetTokens();
      // 429: a clock that was set back leaves a limit spent for a moment.
      if (![401, 429].includes(answer.status) && answer.status < 500 && !isStepUp(answer)) return answer;
      this.noteRefusal(`${method} ${target}: ${answer.status} ${answer.body.toString()}`);
    } catch (error) {
      this.noteRefusal(`${method} ${target}: ${String(error)}`);
    }
    return null;
  }

  noteRefusal(text: string): void {
    this.#refusals.push(text);
    if (this.#refusals.length > keptRefusals) this.#refusals.shift();
  }

  get refusals(): readonly string[] {
    return this.#refusals;
  }

  // Files.

  get objects(): string {
    return this.#options.objects;
  }

  get disk(): Disk {
    return this.#options.disk;
  }

  objectFiles(): Promise<readonly string[]> {
    return filesIn(this.#options.objects);
  }

  async spoolFiles(): Promise<readonly string[]> {
    const folders = this.#options.roles.map((role) => path.join(this.#options.disk.folder, `spool-${role}`));
    return (await Promise.all(folders.map(filesIn))).flat();
  }

  async ageTemporaryFiles(seconds: number): Promise<void> {
    const time = Date.now() / 1000 - seconds;
    for (const name of await this.objectFiles())
      if (/\.tmp|\.sgwtmp|\.part$/.test(name)) await utimes(name, time, time).catch(() => undefined);
  }
}

function isStepUp({ status, body }: TestAnswer): boolean {
  return status === 403 && body.includes("step_up_required");
}

/** Each start of PostgreSQL has a new folder for its socket; processes that run find it by this link. */
function socketLink(folder: string): string {
  return path.join(folder, "socket");
}

async function startPostgres(folder: string): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({
    ...{ folder: path.join(folder, "database"), log: silentLog, maxConnections },
  });
  await rm(socketLink(folder), { force: true });
  await symlink(postgres.connection.host, socketLink(folder));
  return postgres;
}
