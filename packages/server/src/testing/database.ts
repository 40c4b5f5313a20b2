/**
 * A real database for a test file: a copy of a template that `tools/test.ts` migrated once, in the PostgreSQL server of the
 * whole run. A copy takes about 100 ms; running all migrations would take longer with every new migration.
 */

import { randomBytes } from "node:crypto";
import type pg from "pg";
import { systemClock } from "../kernel/clock.ts";
import { openPools, type Pools, withConnection } from "../kernel/database/pool.ts";
import type { SocketTarget } from "../kernel/database/target.ts";
import { createLog } from "../kernel/log.ts";

/** Carries a {@link TestServer} as JSON from `tools/test.ts` to the test files. */
export const testServerVariable = "EMANET_TEST_SERVER";

/** For tests that do not check the log. */
export const silentLog = createLog({ level: "silent", clock: systemClock, write: () => undefined });

/** The server of a test run. */
export interface TestServer {
  /** A superuser's connection to the maintenance database: makes and drops copies. */
  readonly admin: SocketTarget;
  /** Owns the template and every copy; no superuser, as an operator's own would not be. */
  readonly owner: string;
  /** The migrated database that copies are made of. */
  readonly template: string;
}

export interface TestDatabase {
  /** The copy, with the owner as user: what a service under test connects to. */
  readonly target: SocketTarget;
  /** The same as a superuser, for what only a server's administrator can do. */
  readonly adminTarget: SocketTarget;
  readonly app: pg.Pool;
  readonly owner: pg.Pool;
}

/** Registers clean-up: a test's context, or `{ after }` of `node:test` for a whole file. */
export interface Cleanup {
  after(done: () => Promise<void>): void;
}

export interface TestDatabaseOptions {
  /** An empty database instead of a copy of the migrated template. */
  readonly empty?: boolean;
  /** A copy of another database of the test, as a dump of it would be. Its service is stopped. */
  readonly copyOf?: TestDatabase;
}

/**
 * Copies the template; dropped, with every connection to it, at the end.
 *
 * @example
 * import { after, test } from "node:test";
 * const database = await testDatabase({ after });
 */
export async function testDatabase(cleanup: Cleanup, options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const server = testServer();
  const template = options.copyOf?.target.database ?? (options.empty ? "template0" : server.template);
  if (options.copyOf !== undefined)
    await asAdmin(server, `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${template}'`);
  const name = `t_${process.pid}_${randomBytes(6).toString("hex")}`;
  await asAdmin(server, `create database ${name} template ${template} owner ${server.owner} strategy file_copy`);
  const adminTarget = { ...server.admin, database: name };
  const target = { ...adminTarget, user: server.owner };
  let pools: Pools;
  try {
    pools = await openPools({ target, log: silentLog });
  } catch (error) {
    await asAdmin(server, `drop database ${name} with (force)`);
    throw error;
  }
  cleanup.after(async () => {
    await pools.close();
    await asAdmin(server, `drop database ${name} with (force)`);
  });
  return { target, adminTarget, app: pools.app, owner: pools.owner };
}

/** The server of the run. Throws with an explanation when a test file was started without `tools/test.ts`. */
export function testServer(): TestServer {
  const text = process.env[testServerVariable];
  if (text === undefined) {
    const file = process.argv[1] ?? "<file>";
    throw new Error(`This test needs a database. Run it with: npm test -- ${file}`);
  }
  return JSON.parse(text) as TestServer;
}

async function asAdmin(server: TestServer, sql: string): Promise<void> {
  await withConnection(server.admin, (client) => client.query(sql));
}
