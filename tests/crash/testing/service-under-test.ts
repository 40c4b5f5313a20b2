/** A service under test, as its clients see it and as its operator looks into it. */

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { codeAt } from "../../../packages/server/src/identity/factors/totp.ts";
import type { TestAnswer } from "../../../packages/server/src/testing/https.ts";
import type { Client, ClientCall } from "../../../packages/server/src/testing/main-process.ts";
import { type FirstRunFile, noSignInLimits } from "../../../packages/server/src/testing/people.ts";

const noLimit = "1000000/60";

/** Limits have tests of their own. */
export const unlimited = {
  ...noSignInLimits,
  EMANET_LIMIT_SNAPSHOTS_CREATE: noLimit,
  EMANET_LIMIT_SNAPSHOTS_CREATE_HOUR: noLimit,
  EMANET_LIMIT_SNAPSHOTS_LIST: noLimit,
  EMANET_LIMIT_RESTORE_CREATE: noLimit,
  EMANET_LIMIT_TOKEN: noLimit,
  EMANET_LIMIT_PACKAGE: noLimit,
  EMANET_LIMIT_SUSPICIOUS: "500000",
};

/** A start, a recovery and a stop on a busy machine, by the clock: what is asked for may take long too. */
const patienceMs = 180_000;

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

/** Asks until the answer is not null. Ends with the signal: the test has failed elsewhere. */
export async function until<T>(what: string, ask: () => Promise<T | null>, signal?: AbortSignal): Promise<T> {
  const end = performance.now() + patienceMs;
  for (;;) {
    signal?.throwIfAborted();
    const found = await ask();
    if (found !== null) return found;
    if (performance.now() > end) return assert.fail(`not in time: ${what}`);
    await delay(pollMs);
  }
}

export abstract class ServiceUnderTest {
  #clockMs = 0;
  #auth: { readonly headers: { readonly authorization: string }; readonly until: number } | null = null;

  /** By the address that clients use. */
  abstract readonly client: Client;
  /** What clients trust. */
  abstract readonly caFile: Promise<string>;
  abstract firstRun(): Promise<FirstRunFile>;
  /** Rows as the database's administrator sees them, whatever their account or vault. */
  abstract rows<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Files in the object store, with what was begun and not ended. */
  abstract objectFiles(): Promise<readonly string[]>;
  /** Files in the spools. */
  abstract spoolFiles(): Promise<readonly string[]>;
  /** Makes what the store has begun to write, and not ended, older. */
  abstract ageTemporaryFiles(seconds: number): Promise<void>;

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
  async registerAgent(owner?: { readonly authorization: string }): Promise<AgentKeys> {
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
      headers: owner ?? (await this.signIn("demo")),
    });
    assert.equal(answer.status, 201, answer.body.toString());
    return JSON.parse(answer.body.toString()).keys[0];
  }

  /** Moves the application's clock. */
  async advance(seconds: number): Promise<void> {
    const headers = await this.signIn("staff");
    const answer = await this.client.send("POST", "/v1/sandbox/clock", { json: { advance_s: seconds }, headers });
    assert.equal(answer.status, 200, answer.body.toString());
    this.#clockMs += seconds * 1000;
    this.#auth = null;
  }

  /** A person of the first run, with a code that was not used before. */
  async signIn(who: "demo" | "staff"): Promise<{ readonly authorization: string }> {
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
}

/** A port that is free now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
