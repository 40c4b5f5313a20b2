/** A small agent for tests: it takes an order, reads its files through the order, and reports. It writes into memory. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import {
  entriesOf,
  FileReader,
  findEntry,
  ObjectStoreError,
  type ReadCalls,
  RemoteReadPort,
  type RestoreWorkerPool,
  rootEntry,
  type TreeEntry,
} from "@emanet/engine";
import { makeAgent, type TestAgent } from "../agents/testing.ts";
import type { SnapshotTest } from "../snapshots/testing.ts";
import type { Sent } from "../testing/running.ts";

export interface OrderJson {
  readonly id: string;
  readonly status: string;
  readonly paths: readonly string[] | null;
  readonly [member: string]: unknown;
}

/** The facts of a machine that permits a folder. */
export const machine = { roots: ["/srv/geri"], allow_overwrite: false };

let seeds = 0;

/** An agent with write-only credentials and the default vault. */
export function writeOnlyAgent(env: SnapshotTest, json: object = machine): Promise<TestAgent> {
  return makeAgent(env.service, env.accountId, { bearer: { scopes: ["snapshots:write"] }, seed: ++seeds, json });
}

/** Orders a restore by a program that may. */
export async function orderTo(env: SnapshotTest, agent: Pick<TestAgent, "id">, json: object): Promise<string> {
  const { target = {}, ...more } = json as { target?: object };
  const body = { target: { kind: "agent", agent_id: agent.id, ...target }, ...more };
  const answer = await env.send("POST", "/v1/restore", body);
  assert.equal(answer.status, 202, answer.body.toString());
  return String(answer.json?.id);
}

type Headers = Readonly<Record<string, string>>;

/** One process of an agent. */
export class TestRun {
  readonly env: SnapshotTest;
  readonly agent: TestAgent;
  readonly runId = randomUUID();

  constructor(env: SnapshotTest, agent: TestAgent) {
    this.env = env;
    this.agent = agent;
  }

  async orders(wait = 0, headers: Headers = this.agent.auth): Promise<readonly OrderJson[]> {
    const target = `/v1/agents/${this.agent.id}/orders?wait=${wait}&run_id=${this.runId}`;
    const answer = await this.env.service.send("GET", target, { headers });
    assert.equal(answer.status, 200, answer.body.toString());
    return (answer.json as unknown as { data: readonly OrderJson[] }).data;
  }

  /** The order, once it can be taken. */
  until(id: string): Promise<OrderJson> {
    return this.env.until(async () => (await this.orders()).find((order) => order.id === id) ?? null);
  }

  start(id: string): Promise<Sent> {
    return this.#post(id, "start", { run_id: this.runId });
  }

  report(id: string, json: object = {}): Promise<Sent> {
    return this.#post(id, "report", { run_id: this.runId, bytes_restored: 0, files_restored: 0, ...json });
  }

  finish(id: string, json: object = {}): Promise<Sent> {
    const end = { result: "completed", bytes_restored: 0, files_restored: 0, ...json };
    return this.#post(id, "finish", { run_id: this.runId, ...end });
  }

  /** Waits for the order and takes it. */
  async take(id: string): Promise<OrderJson> {
    await this.until(id);
    const started = await this.start(id);
    assert.equal(started.status, 200, started.body.toString());
    return started.json as unknown as OrderJson;
  }

  /** Reads every file of the order, as a restore does. */
  async readFiles(order: OrderJson, pool: RestoreWorkerPool): Promise<Record<string, Buffer>> {
    const port = await RemoteReadPort.open(orderCalls(this.env, order.id, this.agent.auth));
    const reader = new FileReader({ port, pool, hashesAll: true });
    const files: Record<string, Buffer> = {};
    const visit = async (entry: TreeEntry, path: string): Promise<void> => {
      if (entry.type === "file") files[path] = Buffer.concat(await Array.fromAsync(reader.read(entry)));
      if (entry.type !== "directory") return;
      for await (const below of entriesOf(reader.frames, entry.root))
        await visit(below, `${path === "" ? "" : `${path}/`}${Buffer.from(below.name)}`);
    };
    const root = await rootEntry(reader.frames, { rootOrdinal: port.root.ordinal, rootId: port.root.id });
    for (const path of order.paths ?? [""]) {
      let entry: TreeEntry | null = root;
      for (const name of path.split("/").filter((part) => part !== ""))
        entry = entry?.type === "directory" ? await findEntry(reader.frames, entry.root, Buffer.from(name)) : null;
      await visit(entry ?? assert.fail(`no ${path}`), path);
    }
    return files;
  }

  /** The whole of it: take, read, report, finish. */
  async perform(id: string, pool: RestoreWorkerPool): Promise<Record<string, Buffer>> {
    const files = await this.readFiles(await this.take(id), pool);
    const written = Object.values(files);
    const bytes = written.reduce((sum, { length }) => sum + length, 0);
    const done = await this.finish(id, { bytes_restored: bytes, files_restored: written.length });
    assert.equal(done.status, 200, done.body.toString());
    return files;
  }

  #post(id: string, verb: string, json: object): Promise<Sent> {
    return this.env.service.send("POST", `/v1/orders/${id}/${verb}`, { json, headers: this.agent.auth });
  }
}

/** The calls of the read protocol for an order. */
export function orderCalls({ service }: SnapshotTest, id: string, headers: Headers): ReadCalls {
  return {
    async call(operation, request) {
      const answer = await service.send("POST", `/v1/orders/${id}/read/${operation}`, {
        ...{ body: request, headers: { ...headers, "content-type": "application/vnd.emanet.read" } },
      });
      if (answer.status !== 200) throw new Error(`${answer.status} ${answer.json?.code}`);
      return answer.body;
    },
    async readPack(pack, { offset, length }) {
      const range = `bytes=${offset}-${offset + length - 1}`;
      const answer = await service.send("GET", `/v1/orders/${id}/packs/${pack}`, { headers: { ...headers, range } });
      if (answer.status === 404) throw new ObjectStoreError("not_found", "gone");
      if (answer.status !== 206) throw new Error(`${answer.status} ${answer.json?.code}`);
      return answer.body;
    },
  };
}
