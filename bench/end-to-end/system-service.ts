/**
 * The agent and one service with its embedded PostgreSQL and its folder of objects, as `npm start` runs them. Every repository is a vault of its own, and
 * the agent has a cache of its own for each. The service and the line to it are shared; only one program works at a time.
 */

import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { httpsFetch } from "../../packages/agent/src/api/https-fetch.ts";
import { newTaxId } from "../../packages/server/src/taxpayers/testing.ts";
import { type MainProcess, sandboxSettings, startMain } from "../../packages/server/src/testing/main-process.ts";
import { type FirstRunFile, readFirstRun } from "../../packages/server/src/testing/people.ts";
import { clientCredentials, createClient } from "../../sdks/typescript/src/index.ts";
import { unlimited } from "../../tests/crash/testing/service-under-test.ts";
import { type Command, folderSize, measure } from "../engine/measure.ts";
import type { Repository, ServerSide, System } from "../engine/system.ts";
import type { Line, Lines } from "./lines.ts";
import { serverSide } from "./server-side.ts";

export interface ServiceOptions {
  readonly version: string;
  /** The agent's command: its sources, or a bundle of them. */
  readonly agent: string;
  /** Everything is kept below this folder. */
  readonly folder: string;
  readonly lines: Lines;
  /** Writes CPU profiles of agent and service here. */
  readonly profile?: string | undefined;
}

export interface RunningSystem {
  readonly system: System;
  close(): Promise<void>;
}

const upkeepProgram = path.join(import.meta.dirname, "upkeep.ts");

/** A folder with some hundred files. The service runs for weeks in life, so a backup and a restore of it go before the race. */
const warmUpFolder = path.resolve(import.meta.dirname, "../../packages/engine/src");

const nodeFlags = ["--disable-warning=ExperimentalWarning"];

export async function startServiceSystem(options: ServiceOptions): Promise<RunningSystem> {
  const service = await Service.start(options);
  const system: System = {
    name: "emanet",
    version: options.version,
    settings:
      "agent and service over TLS, embedded PostgreSQL (durable commits), objects in a folder, defaults; upkeep is the service's daily run of the vault, then its prune; stored counts the objects of the vault and what PostgreSQL's tables and indexes grew by",
    create: (folder, delayMs) => service.create(folder, delayMs),
  };
  try {
    await service.warmUp();
  } catch (error) {
    await service.close();
    throw error;
  }
  return { system, close: () => service.close() };
}

interface Started {
  readonly main: MainProcess;
  readonly data: string;
  readonly cleanups: (() => unknown)[];
  readonly first: FirstRunFile;
  readonly line: Line;
}

class Service {
  readonly #options: ServiceOptions;
  readonly #main: MainProcess;
  readonly #cleanups: (() => unknown)[];
  readonly #data: string;
  readonly #first: FirstRunFile;
  readonly #line: Line;

  private constructor(options: ServiceOptions, started: Started) {
    this.#options = options;
    this.#main = started.main;
    this.#data = started.data;
    this.#cleanups = started.cleanups;
    this.#first = started.first;
    this.#line = started.line;
  }

  static async start(options: ServiceOptions): Promise<Service> {
    const data = path.join(options.folder, "data");
    mkdirSync(options.folder, { recursive: true });
    const cleanups: (() => unknown)[] = [];
    const main = startMain(
      { after: (work) => void cleanups.push(work) },
      {
        nodeOptions: profileFlags(options.profile),
        settings: { ...sandboxSettings(data), ...unlimited, EMANET_LOG_LEVEL: "warn" },
      },
    );
    const kill = () => main.signal("SIGKILL");
    process.once("exit", kill);
    cleanups.push(() => process.off("exit", kill));
    const url = await main.ready();
    const line = await options.lines.open(Number(new URL(url).port));
    return new Service(options, { main, data, cleanups, line, first: await readFirstRun(data) });
  }

  async close(): Promise<void> {
    // A process that is killed writes no profile.
    this.#main.signal("SIGTERM");
    await this.#main.ended();
    for (const cleanup of this.#cleanups) await cleanup();
  }

  async warmUp(): Promise<void> {
    const folder = path.join(this.#options.folder, "warm-up");
    const repository = await this.create(folder, 0);
    await measure(repository.backup(warmUpFolder));
    const target = path.join(folder, "restored");
    mkdirSync(target);
    await measure(repository.restore(warmUpFolder, target));
    await repository.server?.untilIdle();
  }

  async create(folder: string, delayMs: number): Promise<Repository> {
    const vaultId = await this.#newVault(path.basename(folder));
    const agent = this.#agent(folder);
    const place = ["--source", "ofis", "--vault", vaultId];
    // Registers the machine and fetches the vault's keys, as the other programs connect before their first backup.
    const first = path.join(folder, "first");
    mkdirSync(first, { recursive: true });
    await measure(agent("backup", first, "--source", "first", "--vault", vaultId));
    const objects = path.join(this.#data, "objects", "vaults", vaultId.replaceAll("-", ""));
    const side = serverSide(this.#main.pid, this.#line, delayMs);
    const database = new DatabaseGrowth(path.join(this.#data, "postgres", "base"));
    await side.untilIdle();
    return {
      // 3: a file could not be read.
      backup: (tree) => ({ ...agent("backup", tree, ...place), alsoFine: [3] }),
      backedUp: async () => {},
      restore: (_tree, target) => agent("restore", "latest", "--target", target, ...place),
      restoreFile: (_tree, file, target) => agent("restore", "latest", file, "--target", target, ...place),
      upkeep: () => [{ program: process.execPath, args: [...nodeFlags, upkeepProgram, this.#data, vaultId] }],
      verify: () => agent("check", "latest", "--full", ...place),
      stored: () => {
        const { bytes, files } = folderSize(objects);
        return { bytes: bytes + database.bytes(), files };
      },
      newBytes: async () => null,
      content: objects,
      server: countingGrowth(side, database),
    };
  }

  get #caFile(): string {
    return path.resolve(this.#data, this.#first.ca_file);
  }

  #agent(folder: string): (...args: readonly string[]) => Command {
    const { client_id: clientId, client_secret: clientSecret } = this.#first.demo;
    const env = {
      ...{ EMANET_URL: `https://127.0.0.1:${this.#line.port}`, EMANET_CA_FILE: this.#caFile },
      ...{ EMANET_CLIENT_ID: clientId, EMANET_CLIENT_SECRET: clientSecret },
      // A sign-in has one signing key.
      ...{ EMANET_STATE_DIR: path.join(this.#options.folder, "state"), EMANET_CACHE_DIR: path.join(folder, "cache") },
    };
    const flags = [...nodeFlags, ...profileFlags(this.#options.profile)];
    return (...args) => ({
      program: process.execPath,
      args: [...flags, this.#options.agent, ...args, "--json", "--quiet"],
      env,
    });
  }

  /** A taxpayer has a vault of its own, and a program may make one. */
  async #newVault(name: string): Promise<string> {
    const { base_url: baseUrl, demo } = this.#first;
    const transport = httpsFetch({ ca: readFileSync(this.#caFile, "utf8"), userAgent: "bench" });
    const credentials = clientCredentials({ clientId: demo.client_id, clientSecret: demo.client_secret });
    const client = createClient({ baseUrl, credentials, platform: { fetch: transport.fetch } });
    try {
      return (await client.taxpayers.create({ body: { name, tax_id: newTaxId() } })).vault_id;
    } finally {
      transport.close();
    }
  }
}

/**
 * What the database grew by while one repository's commands ran, until the service was idle again: tables and indexes of all vaults are in the same
 * files. The write-ahead log is not counted; it does not grow with what is stored.
 */
class DatabaseGrowth {
  readonly #folder: string;
  #grown = 0;
  #begun: number | null = null;

  constructor(folder: string) {
    this.#folder = folder;
  }

  begin(): void {
    this.#begun = folderSize(this.#folder).bytes;
  }

  end(): void {
    if (this.#begun !== null) this.#grown += folderSize(this.#folder).bytes - this.#begun;
    this.#begun = null;
  }

  bytes(): number {
    return this.#grown;
  }
}

function countingGrowth(side: ServerSide, database: DatabaseGrowth): ServerSide {
  return {
    async begin() {
      database.begin();
      await side.begin();
    },
    used: () => side.used(),
    async untilIdle() {
      const seconds = await side.untilIdle();
      database.end();
      return seconds;
    },
  };
}

function profileFlags(folder: string | undefined): readonly string[] {
  // Sampling a thousand times a second, as by default, a service that does nothing would not be idle.
  return folder === undefined ? [] : ["--cpu-prof", "--cpu-prof-interval=5000", `--cpu-prof-dir=${folder}`];
}
