/** A service with its own database and object store that is killed and started again at the same address, and its accounts' tokens. */

import assert from "node:assert/strict";
import { readdir, readFile, readlink, utimes } from "node:fs/promises";
import path from "node:path";
import { socketPort } from "../../../packages/server/src/kernel/postgres/settings.ts";
import type { Cleanup } from "../../../packages/server/src/testing/database.ts";
import {
  type Client,
  clientOf,
  type MainProcess,
  sandboxSettings,
  startMain,
} from "../../../packages/server/src/testing/main-process.ts";
import { OutsideView } from "../../../packages/server/src/testing/outside-view.ts";
import { type FirstRunFile, readFirstRun } from "../../../packages/server/src/testing/people.ts";
import { processesIn } from "../../../packages/server/src/testing/processes.ts";
import { filesIn } from "./leftovers.ts";
import { freePort, ServiceUnderTest, unlimited, until } from "./service-under-test.ts";

export class World extends ServiceUnderTest {
  readonly folder: string;
  readonly #cleanup: Cleanup;
  readonly #port: number;
  readonly #nodeOptions: readonly string[];
  readonly #view: OutsideView;
  #main: MainProcess | null = null;
  #client: Client | null = null;

  private constructor(cleanup: Cleanup, folder: string, port: number, nodeOptions: readonly string[]) {
    super();
    this.#nodeOptions = nodeOptions;
    this.#cleanup = cleanup;
    this.#view = new OutsideView(cleanup);
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

  objectFiles(): Promise<readonly string[]> {
    return filesIn(path.join(this.folder, "objects"));
  }

  spoolFiles(): Promise<readonly string[]> {
    return filesIn(path.join(this.folder, "spool"));
  }

  /** Makes what the store has begun to write, and not ended, older. */
  async ageTemporaryFiles(seconds: number): Promise<void> {
    const folder = path.join(this.folder, "objects", ".tmp");
    const time = Date.now() / 1000 - seconds;
    for (const name of await readdir(folder)) await utimes(path.join(folder, name), time, time);
  }

  /** Rows as the database's administrator sees them, whatever their account or vault. */
  async rows<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const host = await readlink(path.join(this.folder, "postgres.socket"));
    const target = { kind: "socket", host, port: socketPort, user: "postgres", database: "emanet" } as const;
    return this.#view.rows<Row>(target, text, values);
  }
}
