/**
 * A service in several processes on a PostgreSQL of its own: one that answers requests, workers that send, one that emits, and a receiver
 * with three webhooks. Each of them can be killed with SIGKILL, and is started again then.
 */

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { readFile, rm, symlink } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { withConnection } from "../../../packages/server/src/kernel/database/pool.ts";
import type { SocketTarget } from "../../../packages/server/src/kernel/database/target.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../../packages/server/src/kernel/postgres/embedded.ts";
import { type Program, startProgram } from "../../../packages/server/src/testing/child.ts";
import { type Cleanup, silentLog } from "../../../packages/server/src/testing/database.ts";
import { sendHttp1 } from "../../../packages/server/src/testing/https.ts";
import { type FirstRunFile, noSignInLimits, readFirstRun } from "../../../packages/server/src/testing/people.ts";
import { temporaryFolder } from "../../../packages/server/src/testing/temporary-folder.ts";
import {
  type Receiver,
  receiverSettings,
  startReceiver,
} from "../../../packages/server/src/webhooks/testing/receiver.ts";

/** What one webhook has seen. */
export class Seen {
  /** The hash of the body by `webhook-id`. */
  readonly bodies = new Map<string, string>();
  /** The sequence of each event when it came for the first time. */
  readonly firsts: number[] = [];
  repeated = 0;
  different = 0;

  add(id: string, body: Buffer): void {
    const digest = hash("sha256", body);
    const known = this.bodies.get(id);
    if (known === undefined) {
      this.bodies.set(id, digest);
      this.firsts.push(Number(/"sequence":(\d+)/.exec(body.toString())?.[1]));
      return;
    }
    this.repeated += 1;
    if (known !== digest) this.different += 1;
  }
}

export interface StoredEvent {
  readonly sequence: number;
  readonly id: string;
  readonly payload: string;
}

export class WebhookWorld {
  readonly #cleanup: Cleanup;
  readonly #receiver: Receiver;
  readonly #folder: string;
  #postgres: EmbeddedPostgres;
  #api: Program | null = null;
  #url = "";
  #ca = "";
  #token = "";
  #firstRun: FirstRunFile | null = null;
  readonly #workers: Program[] = [];
  #emitter: Program | null = null;
  #emitting: Promise<void> = Promise.resolve();
  #wanted = 0;
  #pauseMs = 0;
  #isFollowing = true;
  /** Events whose commit was reported. */
  acknowledged = 0;
  readonly seen = new Map<string, Seen>();
  /** What the client of long polling has read. */
  readonly followed: number[] = [];

  private constructor(cleanup: Cleanup, receiver: Receiver, folder: string, postgres: EmbeddedPostgres) {
    this.#cleanup = cleanup;
    this.#receiver = receiver;
    this.#folder = folder;
    this.#postgres = postgres;
    cleanup.after(() => this.#postgres.stop());
    receiver.answer = (request) => {
      receiver.requests.length = 0;
      this.seen.get(request.path)?.add(String(request.headers["webhook-id"]), request.body);
      return 200;
    };
  }

  static async open(cleanup: Cleanup, hooks: readonly string[]): Promise<WebhookWorld> {
    const receiver = await startReceiver(cleanup);
    const folder = await temporaryFolder(cleanup);
    const world = new WebhookWorld(cleanup, receiver, folder, await startPostgres(folder));
    await world.#startApi();
    await world.#signIn();
    for (const name of hooks) {
      world.seen.set(`/${name}`, new Seen());
      const made = await world.#call("POST", "/v1/webhooks", { url: `${receiver.url}/${name}`, events: ["*"] });
      assert.equal(made.status, 201, made.body.toString());
    }
    return world;
  }

  /** The same after every start of PostgreSQL. */
  get #target(): SocketTarget {
    return { ...this.#postgres.connection, host: socketLink(this.#folder) };
  }

  get #demo(): FirstRunFile["demo"] {
    return this.#firstRun?.demo ?? assert.fail("not started");
  }

  async #serve(role: "api" | "worker"): Promise<{ readonly dataDir: string; readonly program: Program }> {
    const dataDir = await temporaryFolder(this.#cleanup);
    const settings = JSON.stringify({
      ...{ EMANET_PROFILE: "sandbox", EMANET_LISTEN: "127.0.0.1:0", EMANET_PUBLIC_URL: "https://emanet.example" },
      ...{ EMANET_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"), EMANET_LOG_LEVEL: "error" },
      ...{ ...noSignInLimits, ...receiverSettings(this.#receiver), EMANET_STORAGE: "memory:" },
      ...{ EMANET_LIMIT_PACKAGE: "1000000/60", EMANET_LIMIT_TOKEN: "1000/60", EMANET_DATA_DIR: dataDir },
    });
    const args = [settings, JSON.stringify(this.#target), role];
    return { dataDir, program: startProgram(this.#cleanup, "serve", { args }) };
  }

  async #startApi(): Promise<void> {
    const { dataDir, program } = await this.#serve("api");
    this.#url = (await program.line()).replace("ready ", "");
    this.#api = program;
    const firstRun = await readFirstRun(dataDir);
    this.#firstRun ??= firstRun;
    this.#ca = await readFile(firstRun.ca_file, "utf8");
  }

  #call(method: string, path: string, json?: object) {
    const headers = { authorization: `Bearer ${this.#token}`, ...(json && { "content-type": "application/json" }) };
    return sendHttp1(`${this.#url}${path}`, this.#ca, { method, headers, ...(json && { body: JSON.stringify(json) }) });
  }

  async #signIn(): Promise<void> {
    const basic = Buffer.from(`${this.#demo.client_id}:${this.#demo.client_secret}`).toString("base64");
    const answer = await sendHttp1(`${this.#url}/oauth2/token`, this.#ca, {
      ...{ method: "POST", body: "grant_type=client_credentials" },
      headers: { authorization: `Basic ${basic}`, "content-type": "application/x-www-form-urlencoded" },
    });
    assert.equal(answer.status, 200, answer.body.toString());
    this.#token = JSON.parse(answer.body.toString()).access_token;
  }

  async addWorker(): Promise<void> {
    const { program } = await this.#serve("worker");
    this.#workers.push(program);
  }

  /** Emits until so many events were acknowledged. */
  emit(wanted: number, pauseMs: number): void {
    this.#wanted = wanted;
    this.#pauseMs = pauseMs;
    const before = this.acknowledged;
    const args = [...[JSON.stringify(this.#target), this.#demo.account_id, String(wanted - before), String(pauseMs)]];
    const program = startProgram(this.#cleanup, "emit-events", { args });
    this.#emitter = program;
    this.#emitting = (async () => {
      for (;;) {
        const line = await program.line().catch(() => null);
        if (line === null) return;
        this.acknowledged = before + Number(line);
      }
    })();
  }

  /** Resolves when all were emitted. */
  emitted(): Promise<void> {
    return this.#emitting;
  }

  /** Reads events as a client does that comes again after every failure, until {@link stopFollowing}. */
  async follow(): Promise<void> {
    while (this.#isFollowing) {
      const after = this.followed.at(-1) ?? 0;
      const answer = await this.#call("GET", `/v1/events?after=${after}&wait=2&limit=1000`).catch(() => null);
      if (answer?.status === 200) {
        const { data } = JSON.parse(answer.body.toString()) as { data: { sequence: number }[] };
        this.followed.push(...data.map(({ sequence }) => sequence));
        continue;
      }
      await delay(200);
      if (answer?.status === 401) await this.#signIn().catch(() => undefined);
    }
  }

  stopFollowing(): void {
    this.#isFollowing = false;
  }

  readonly kill = {
    /** The one of this number. */
    worker: async (number: number) => {
      const [victim] = this.#workers.splice(number % this.#workers.length, 1);
      await victim?.kill();
      await this.addWorker();
    },
    postgres: async () => {
      process.kill(this.#postgres.pid, "SIGKILL");
      await this.#postgres.lost;
      await this.#postgres.stop().catch(() => undefined);
      this.#postgres = await startPostgres(this.#folder);
    },
    api: async () => {
      await this.#api?.kill();
      await this.#startApi();
    },
    emitter: async () => {
      await this.#emitter?.kill();
      await this.#emitting;
      if (this.acknowledged < this.#wanted) this.emit(this.#wanted, this.#pauseMs);
    },
  };

  async storedEvents(): Promise<readonly StoredEvent[]> {
    const { account_id: accountId } = this.#demo;
    const { rows } = await withConnection(this.#target, async (client) => {
      await client.query("begin");
      await client.query("select set_config('emanet.scope', 'system', true)");
      const text = "select sequence, id, payload from emanet.events where account_id = $1 order by sequence";
      return client.query<{ sequence: string; id: string; payload: string }>(text, [accountId]);
    });
    return rows.map((row) => ({ ...row, sequence: Number(row.sequence) }));
  }
}

/** Each start has a new folder for its socket; processes that run find it by this link. */
function socketLink(folder: string): string {
  return path.join(folder, "socket");
}

async function startPostgres(folder: string): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ folder, log: silentLog, maxConnections: 100 });
  await rm(socketLink(folder), { force: true });
  await symlink(postgres.connection.host, socketLink(folder));
  return postgres;
}
