/** A service with its own database and object store that is killed and started again at the same address, and its accounts' tokens. */

import assert from "node:assert/strict";
import { readdir, readFile, readlink, utimes } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { codeAt } from "../../../packages/server/src/identity/factors/totp.ts";
import { withConnection } from "../../../packages/server/src/kernel/database/pool.ts";
import { socketPort } from "../../../packages/server/src/kernel/postgres/settings.ts";
import type { Cleanup } from "../../../packages/server/src/testing/database.ts";
import type { TestAnswer } from "../../../packages/server/src/testing/https.ts";
import {
  type Client,
  type ClientCall,
  clientOf,
  type MainProcess,
  sandboxSettings,
  startMain,
} from "../../../packages/server/src/testing/main-process.ts";
import { type FirstRunFile, noSignInLimits, readFirstRun } from "../../../packages/server/src/testing/people.ts";
import { processesIn } from "../../../packages/server/src/testing/processes.ts";

const noLimit = "1000000/60";

/** Limits have tests of their own. */
const unlimited = {
  ...noSignInLimits,
  EMANET_LIMIT_SNAPSHOTS_CREATE: noLimit,
  EMANET_LIMIT_SNAPSHOTS_CREATE_HOUR: noLimit,
  EMANET_LIMIT_SNAPSHOTS_LIST: noLimit,
  EMANET_LIMIT_TOKEN: noLimit,
  EMANET_LIMIT_PACKAGE: noLimit,
  EMANET_LIMIT_SUSPICIOUS: "500000",
};

/** A start, a recovery and a stop on a busy machine. */
const patienceMs = 120_000;

/** A token lives for 15 minutes, and a client that gets it now may use it for some of them. */
const keptTokenMs = 5 * 60_000;
const pollMs = 50;

export const seedOfAgent = Buffer.alloc(32, 9);

export interface AgentKeys {
  readonly vault_id: string;
  readonly registration: string;
  readonly epoch: number;
  readonly public_key: string;
  readonly block_id_key: string;
}

/** Asks until the answer is not null. */
export async function until<T>(what: string, ask: () => Promise<T | null>): Promise<T> {
  for (let waited = 0; waited < patienceMs; waited += pollMs) {
    const found = await ask();
    if (found !== null) return found;
    await delay(pollMs);
  }
  return assert.fail(`not in time: ${what}`);
}

export class World {
  readonly folder: string;
  readonly #cleanup: Cleanup;
  readonly #port: number;
  readonly #nodeOptions: readonly string[];
  #main: MainProcess | null = null;
  #client: Client | null = null;
  #clockMs = 0;
  #auth: { readonly headers: { readonly authorization: string }; readonly until: number } | null = null;

  private constructor(cleanup: Cleanup, folder: string, port: number, nodeOptions: readonly string[]) {
    this.#nodeOptions = nodeOptions;
    this.#cleanup = cleanup;
    this.folder = folder;
    this.#port = port;
  }

  static async open(cleanup: Cleanup, folder: string, nodeOptions: readonly string[] = []): Promise<World> {
    const world = new World(cleanup, folder, await freePort(), nodeOptions);
    await world.start();
    return world;
  }

  get main(): MainProcess {
    return this.#main ?? assert.fail("not started");
  }

  get client(): Client {
    return this.#client ?? assert.fail("not started");
  }

  get caFile(): Promise<string> {
    return this.firstRun().then(({ ca_file: file }) => path.resolve(this.folder, file));
  }

  firstRun(): Promise<FirstRunFile> {
    return readFirstRun(this.folder);
  }

  /** Starts a process and does not wait for it. */
  spawn(): MainProcess {
    this.#main = startMain(this.#cleanup, {
      nodeOptions: this.#nodeOptions,
      settings: {
        ...sandboxSettings(this.folder),
        ...unlimited,
        EMANET_LISTEN: `127.0.0.1:${this.#port}`,
        EMANET_LOG_LEVEL: "warn",
        EMANET_DRAIN_SECONDS: "5",
      },
    });
    return this.#main;
  }

  async start(): Promise<void> {
    await this.spawn().ready();
    this.#client = await clientOf(this.folder);
  }

  /** Waits until the service answers. One that has ended is started again. Returns whether it was. */
  async ensureUp(): Promise<boolean> {
    let isStarted = false;
    await until("the service is ready", async () => {
      if (this.main.hasEnded()) {
        await this.start();
        isStarted = true;
      }
      const answer = await this.client.send("GET", "/health/ready").catch(() => null);
      return answer?.status === 200 ? true : null;
    });
    return isStarted;
  }

  /** Stops it as an operator does. */
  async stop(): Promise<void> {
    const { main } = this;
    main.signal("SIGTERM");
    const end = await main.ended();
    assert.deepEqual(end, { code: 0, signal: null }, main.stderr().slice(-2000));
  }

  /** The process id of the database's first process; null if it does not run. */
  async postmaster(): Promise<number | null> {
    const text = await readFile(path.join(this.folder, "postgres", "postmaster.pid"), "utf8").catch(() => "");
    const pid = Number(text.split("\n")[0]);
    return pid > 0 ? pid : null;
  }

  /** The processes that answer the service's connections. */
  async backends(): Promise<readonly number[]> {
    const pids = await processesIn(path.join(this.folder, "postgres"));
    const names = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
    return pids.filter((_, at) => /^postgres: emanet(_app)? emanet /.test(names[at] ?? ""));
  }

  /** A request in the name of the demo account's client, with a new token. */
  async send(method: string, target: string, call: ClientCall = {}): Promise<TestAnswer> {
    const headers = { ...(await this.auth()), ...call.headers };
    return this.client.send(method, target, { ...call, headers });
  }

  /** A token of the client, the same for some minutes. */
  async auth(): Promise<{ readonly authorization: string }> {
    if (this.#auth !== null && performance.now() < this.#auth.until) return this.#auth.headers;
    const headers = await this.#token();
    this.#auth = { headers, until: performance.now() + keptTokenMs };
    return headers;
  }

  async #token(): Promise<{ readonly authorization: string }> {
    const { demo } = await this.firstRun();
    const basic = Buffer.from(`${demo.client_id}:${demo.client_secret}`).toString("base64");
    const answer = await this.client.send("POST", "/oauth2/token", {
      body: "grant_type=client_credentials",
      headers: { authorization: `Basic ${basic}`, "content-type": "application/x-www-form-urlencoded" },
    });
    assert.equal(answer.status, 200, answer.body.toString());
    return { authorization: `Bearer ${JSON.parse(answer.body.toString()).access_token}` };
  }

  /** The owner registers a key for the account's client. Returns what the client then writes with. */
  async registerAgent(): Promise<AgentKeys> {
    const { demo } = await this.firstRun();
    const { signerFromSeed } = await import("@emanet/engine");
    const key = signerFromSeed(seedOfAgent);
    const ids = `${demo.account_id}${demo.client_id}`.replaceAll("-", "");
    const signature = key.sign("agent", Buffer.concat([Buffer.from(ids, "hex"), key.publicKey]));
    const answer = await this.client.send("POST", "/v1/agents", {
      json: {
        ...{ name: "Sunucu", client_id: demo.client_id },
        public_key: Buffer.from(key.publicKey).toString("base64"),
        signature: signature.toString("base64"),
      },
      headers: await this.#signIn("demo"),
    });
    assert.equal(answer.status, 201, answer.body.toString());
    return JSON.parse(answer.body.toString()).keys[0];
  }

  /** Moves the application's clock. */
  async advance(seconds: number): Promise<void> {
    const headers = await this.#signIn("staff");
    const answer = await this.client.send("POST", "/v1/sandbox/clock", { json: { advance_s: seconds }, headers });
    assert.equal(answer.status, 200, answer.body.toString());
    this.#clockMs += seconds * 1000;
    this.#auth = null;
  }

  /** Makes what the store has begun to write, and not ended, older. */
  async ageTemporaryFiles(seconds: number): Promise<void> {
    const folder = path.join(this.folder, "objects", ".tmp");
    const time = Date.now() / 1000 - seconds;
    for (const name of await readdir(folder)) await utimes(path.join(folder, name), time, time);
  }

  async #signIn(who: "demo" | "staff"): Promise<{ readonly authorization: string }> {
    const { email, password, totp_secret: secret } = (await this.firstRun())[who];
    return until(`${who} signs in`, async () => {
      const code = codeAt(secret, new Date(Date.now() + this.#clockMs));
      const json = { email, password, totp_code: code, client: "dashboard" };
      const answer = await this.client.send("POST", "/v1/auth/login", { json });
      // Each code is accepted once, for half a minute.
      if (answer.status === 401) return null;
      assert.equal(answer.status, 200, answer.body.toString());
      return { authorization: `Bearer ${JSON.parse(answer.body.toString()).access_token}` };
    });
  }

  /** Rows as the database's administrator sees them, whatever their account or vault. */
  async rows<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const host = await readlink(path.join(this.folder, "postgres.socket"));
    const target = { kind: "socket", host, port: socketPort, user: "postgres", database: "emanet" } as const;
    return withConnection(target, async (client) => (await client.query<Row>(text, [...values])).rows);
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
