/** A service and its PostgreSQL for a part of the benchmark that starts it with other settings, or starts it again. */

import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { withConnection } from "../../packages/server/src/kernel/database/pool.ts";
import { readFirstRun } from "../../packages/server/src/testing/people.ts";
import { startTestServer } from "../../tools/test-server.ts";
import { tokenOf } from "../requests/measured-service.ts";
import { type Program, parentOf, startProgram, stopProgram } from "../requests/processes.ts";

export interface MeasuredSetup {
  readonly url: string;
  readonly ca: string;
  readonly program: Program;
  readonly postmaster: number;
  /** For what is uploaded. */
  readonly folder: string;
  /** The data folder of the service. */
  readonly dataFolder: string;
  /** Header of a request. A token lives for a quarter of an hour, and longer than the process. */
  authorization(): Promise<{ readonly authorization: string }>;
  /** Waits until all snapshots are verified in the background. */
  untilVerified(): Promise<void>;
  /** Ends the process and starts another one. */
  restart(): Promise<void>;
  /** Rows as the database's administrator sees them, whatever their account. */
  rows<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface SetupOptions {
  /** Called in reverse order at the end. */
  readonly cleanups: (() => unknown)[];
  readonly settings?: Readonly<Record<string, string>>;
}

/** Short beside the verification of the smallest upload. */
const verifiedPollMs = 50;

export async function startSetup({ cleanups, settings = {} }: SetupOptions): Promise<MeasuredSetup> {
  const { server, stop } = await startTestServer({ large: true });
  cleanups.push(stop);
  const database = { ...server.admin, user: server.owner, database: server.template };
  const folder = await mkdtemp(path.join(tmpdir(), "emanet-bench-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const dataFolder = path.join(folder, "data");
  await mkdir(dataFolder);
  const all = {
    ...{ EMANET_PROFILE: "local", EMANET_DATA_DIR: dataFolder, EMANET_LISTEN: "127.0.0.1:0" },
    // Tokens are good for this address, whatever the port of the next process.
    ...{ EMANET_METRICS_LISTEN: "127.0.0.1:0", EMANET_PUBLIC_URL: "https://emanet.example", ...settings },
  };
  const start = () => startProgram("serve.ts", [JSON.stringify(all), JSON.stringify(database), "0"]);
  let program = await start();
  cleanups.push(() => stopProgram(program));
  const ca = await readFile(program.ready[1] ?? "", "utf8");
  const { demo } = await readFirstRun(dataFolder);
  const postmaster = await withConnection(database, async (client) => {
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    return parentOf(rows[0]?.pid ?? 0) ?? 0;
  });
  return {
    ...{ ca, postmaster, folder, dataFolder },
    get url() {
      return program.ready[0] ?? "";
    },
    get program() {
      return program;
    },
    authorization: async () => ({ authorization: `Bearer ${await tokenOf(program.ready[0] ?? "", ca, demo)}` }),
    untilVerified: () =>
      withConnection(database, async (client) => {
        await client.query(`select set_config('emanet.scope', 'system', false)`);
        const text = "select 1 from emanet.snapshots where state = 'completed' and verified_at is null limit 1";
        while ((await client.query(text)).rows.length > 0)
          await new Promise((resolve) => setTimeout(resolve, verifiedPollMs));
      }),
    rows: <Row extends object>(text: string, values: readonly unknown[] = []) =>
      withConnection(
        { ...server.admin, database: server.template },
        async (client) => (await client.query<Row>(text, [...values])).rows,
      ),
    async restart() {
      await stopProgram(program);
      program = await start();
    },
  };
}
