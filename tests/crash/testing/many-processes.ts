/**
 * Two API processes behind a proxy and a worker, on one PostgreSQL of the system, one bucket and one Redis. Any of them can be killed
 * and started again at the same address. Each has a data folder of its own; they share nothing on disk.
 */

import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { mkdir, utimes } from "node:fs/promises";
import path from "node:path";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../../packages/server/src/kernel/postgres/embedded.ts";
import { type Cleanup, silentLog } from "../../../packages/server/src/testing/database.ts";
import {
  type Client,
  clientAt,
  type MainProcess,
  sandboxSettings,
  startMain,
} from "../../../packages/server/src/testing/main-process.ts";
import { needs, type Skippable } from "../../../packages/server/src/testing/needs.ts";
import { OutsideView } from "../../../packages/server/src/testing/outside-view.ts";
import { type FirstRunFile, readFirstRun } from "../../../packages/server/src/testing/people.ts";
import { startRedis } from "../../../packages/server/src/testing/redis.ts";
import { temporaryFolder } from "../../../packages/server/src/testing/temporary-folder.ts";
import { type FaultyGateway, startFaultyGateway } from "../../../packages/storage/src/testing/faulty-gateway.ts";
import { findVersitygw, startVersitygw } from "../../../packages/storage/src/testing/versitygw.ts";
import { filesIn } from "./leftovers.ts";
import { type RoundRobin, startRoundRobin } from "./round-robin.ts";
import { freePort, ServiceUnderTest, unlimited, until } from "./service-under-test.ts";

/** What must be installed. */
export interface Programs {
  readonly postgresFolder: string;
  readonly versitygw: string;
  readonly redis: string;
}

/** The programs; null after the test was marked as skipped. Throws in CI. */
export async function findPrograms(t: Skippable): Promise<Programs | null> {
  const redis = needs(t, "redis");
  if (redis === undefined) return null;
  const [postgresFolder] = globSync("/usr/lib/postgresql/*/bin").sort();
  const versitygw = await findVersitygw();
  const missing = postgresFolder === undefined ? "PostgreSQL of the system" : versitygw === null ? "versitygw" : null;
  if (postgresFolder !== undefined && versitygw !== null) return { postgresFolder, versitygw, redis };
  const message = `${missing} is not installed: run tools/system-packages.sh`;
  if (process.env.CI) throw new Error(message);
  t.skip(message);
  return null;
}

export const processNames = ["api-0", "api-1", "worker"] as const;
export type ProcessName = (typeof processNames)[number];

interface OneProcess {
  readonly folder: string;
  readonly port: number;
  main: MainProcess;
}

/** Of the numbers that choose faults. */
const steps = 1 << 20;

/** Of a process, shown when a test fails: some twenty warnings. */
const lastBytes = 8_000;

/** Three processes with two pools each. */
const maxConnections = 150;

interface Parts {
  readonly cleanup: Cleanup;
  readonly postgres: EmbeddedPostgres;
  readonly gateway: FaultyGateway;
  readonly bucketFolder: string;
  readonly proxy: RoundRobin;
  readonly settings: Readonly<Record<string, string>>;
  readonly places: Readonly<Record<ProcessName, { readonly folder: string; readonly port: number }>>;
}

export class ManyProcesses extends ServiceUnderTest {
  readonly #parts: Parts;
  readonly #running = new Map<ProcessName, OneProcess>();
  readonly #view: OutsideView;
  #firstRun: FirstRunFile | null = null;
  readonly client: Client;

  private constructor(parts: Parts, client: Client) {
    super();
    this.#parts = parts;
    this.#view = new OutsideView(parts.cleanup);
    this.client = client;
  }

  /** Starts everything. All processes start at the same time, on an empty database and an empty bucket. */
  static async open(
    cleanup: Cleanup,
    programs: Programs,
    random: { integer(below: number): number },
    settings: Readonly<Record<string, string>> = {},
  ): Promise<ManyProcesses> {
    const folder = await temporaryFolder(cleanup);
    const make = async (name: string) => {
      await mkdir(path.join(folder, name), { recursive: true });
      return path.join(folder, name);
    };
    const postgres = await startEmbeddedPostgres({
      ...{ folder: await make("database"), log: silentLog, binaries: programs.postgresFolder, maxConnections },
    });
    cleanup.after(() => postgres.stop());
    const redis = await startRedis(cleanup, programs.redis);
    await make("s3/bucket");
    const s3 = await startVersitygw(programs.versitygw, path.join(folder, "s3"));
    cleanup.after(() => s3.kill());
    const gateway = await startFaultyGateway(Number(new URL(s3.endpoint).port), () => random.integer(steps) / steps);
    cleanup.after(() => gateway.close());
    const places = {
      "api-0": { folder: await make("api-0"), port: await freePort() },
      "api-1": { folder: await make("api-1"), port: await freePort() },
      worker: { folder: await make("worker"), port: 0 },
    };
    const ports = [places["api-0"].port, places["api-1"].port];
    const proxy = await startRoundRobin(await make("tls"), ports);
    cleanup.after(() => proxy.close());
    const { host, port, user, database } = postgres.connection;
    const shared = {
      EMANET_DATABASE_URL: `postgresql://${user}@/${database}?host=${encodeURIComponent(host)}&port=${port}`,
      EMANET_STORAGE: `s3://bucket/emanet?endpoint=${encodeURIComponent(`http://127.0.0.1:${gateway.port}`)}`,
      EMANET_REDIS_URL: redis.url,
      EMANET_PUBLIC_URL: proxy.url,
      EMANET_BEHIND_TLS_PROXY: "1",
      EMANET_TRUSTED_PROXIES: "127.0.0.0/8",
      EMANET_LOG_LEVEL: "warn",
      EMANET_DRAIN_SECONDS: "5",
      AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
      ...unlimited,
      ...settings,
    };
    const bucketFolder = path.join(folder, "s3", "bucket");
    const parts = { cleanup, postgres, gateway, bucketFolder, proxy, settings: shared, places };
    const service = new ManyProcesses(parts, await clientAt(proxy.url, proxy.caFile));
    await Promise.all(processNames.map((name) => service.start(name)));
    return service;
  }

  /** Faults of the object store. */
  get store(): FaultyGateway {
    return this.#parts.gateway;
  }

  /** Requests that each API process has got. */
  get requests(): readonly number[] {
    return this.#parts.proxy.counts;
  }

  get caFile(): Promise<string> {
    return Promise.resolve(this.#parts.proxy.caFile);
  }

  /** The same in every process; the file of one may be replaced while it is read. */
  async firstRun(): Promise<FirstRunFile> {
    this.#firstRun ??= await readFirstRun(this.#parts.places["api-0"].folder);
    return this.#firstRun;
  }

  /** One process without the proxy. */
  direct(name: "api-0" | "api-1"): Promise<Client> {
    return clientAt(`http://127.0.0.1:${this.#parts.places[name].port}`, null);
  }

  async start(name: ProcessName): Promise<void> {
    await this.spawn(name).ready();
  }

  /** Starts a process and does not wait for it. */
  spawn(name: ProcessName): MainProcess {
    const { cleanup, places, settings } = this.#parts;
    const { folder, port } = places[name];
    const main = startMain(cleanup, {
      words: [name === "worker" ? "worker" : "api"],
      settings: { ...sandboxSettings(folder), ...settings, EMANET_LISTEN: `127.0.0.1:${port}` },
    });
    this.#running.set(name, { folder, port, main });
    return main;
  }

  async kill(name: ProcessName): Promise<void> {
    const { main } = this.#running.get(name) ?? assert.fail("not started");
    main.signal("SIGKILL");
    await main.ended();
  }

  /** Starts what has ended, and waits until requests are answered. */
  async ensureUp(): Promise<void> {
    await Promise.all(
      [...this.#running].map(([name, { main }]) => (main.hasEnded() ? this.start(name) : Promise.resolve())),
    );
    await until("the service is ready", async () => {
      const answer = await this.client.send("GET", "/health/ready").catch(() => null);
      return answer?.status === 200 ? true : null;
    });
  }

  /** What the processes that run have printed last: their warnings. */
  lastLines(): string {
    const lines = [...this.#running].map(
      ([name, { main }]) => `${name}:\n${main.stderr().slice(-lastBytes)}${main.stdout().slice(-lastBytes)}`,
    );
    return lines.join("\n");
  }

  /** Stops all as an operator does. */
  async stop(): Promise<void> {
    for (const { main } of this.#running.values()) main.signal("SIGTERM");
    for (const [name, { main }] of this.#running)
      assert.deepEqual(await main.ended(), { code: 0, signal: null }, `${name}: ${main.stderr().slice(-2000)}`);
  }

  objectFiles(): Promise<readonly string[]> {
    return filesIn(this.#parts.bucketFolder);
  }

  async spoolFiles(): Promise<readonly string[]> {
    const folders = Object.values(this.#parts.places).map(({ folder }) => path.join(folder, "spool"));
    return (await Promise.all(folders.map(filesIn))).flat();
  }

  /** Of uploads in parts; the server keeps them beside the objects. */
  async ageTemporaryFiles(seconds: number): Promise<void> {
    const time = Date.now() / 1000 - seconds;
    for (const name of await this.objectFiles())
      if (name.includes(".sgwtmp")) await utimes(name, time, time).catch(() => undefined);
  }

  async rows<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const target = { ...this.#parts.postgres.admin, database: this.#parts.postgres.connection.database };
    return this.#view.rows<Row>(target, text, values);
  }
}
