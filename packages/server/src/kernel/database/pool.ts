/**
 * The connections to PostgreSQL. Two *pools* with different roles:
 *
 * - `app`: what requests and jobs use. Its connections start as the role `emanet_app`, which row-level security binds.
 * - `owner`: owns the schema. For migrations and the job queue's own tables only.
 *
 * Invariants: the number of connections is bounded; no query runs for ever; a connection that is lost, idle or in the
 * middle of a transaction, costs its query and never the process. Names without a schema mean schema `emanet`.
 *
 * The role and the settings travel in the startup packet (`options`), so that no query can run before they hold. A
 * pooler in front of PostgreSQL must pass `options` on and must not share sessions between clients.
 */

import pg from "pg";
import { errorFields, type Log } from "../log.ts";
import { StartError } from "../start-error.ts";
import { doneWithin } from "../within.ts";
import { typeParsers } from "./parsers.ts";
import type { DatabaseTarget } from "./target.ts";

/** The role of every request and job; made by the first migration. */
export const appRole = "emanet_app";

/** The schema that holds every table of ours. */
export const schemaName = "emanet";

/** The oldest PostgreSQL whose features the schema uses, and the oldest that the tests run on. */
const minMajorVersion = 15;

/** Requests wait for a connection rather than PostgreSQL for memory; a 2-core machine gains nothing beyond this. */
const appConnections = 10;

/** Migrations need one, the job queue a few. */
const ownerConnections = 6;

/**
 * How long a caller waits for a connection, and a statement for a lock. Shorter than the deadline of a request and than the
 * statement timeout, so that the error shows what took too long; longer than a restart.
 */
const defaultWaitMs = 10_000;

/** A spare connection is given back after this; the next burst opens it again in a few milliseconds. */
const idleTimeoutMs = 60_000;

/** No request's statement needs longer; one that does is a missing index or a lock queue. */
const statementTimeoutMs = 30_000;

/** A transaction whose process hangs must not hold its locks for ever. */
const idleInTransactionTimeoutMs = 60_000;

/** A stop does not wait longer for connections in use; the end of the process closes them. */
const closeTimeoutMs = 10_000;

/** After so much silence on an idle TCP connection the system asks whether the peer is still there. */
const keepAliveDelayMs = 10_000;

export interface Pools {
  readonly app: pg.Pool;
  readonly owner: pg.Pool;
  /** For connections outside the pools. */
  readonly target: DatabaseTarget;
  /** Waits, within limits, until every connection is given back and closed. */
  close(): Promise<void>;
}

export interface PoolOptions {
  readonly target: DatabaseTarget;
  readonly log: Log;
  /** Most connections of each pool; the defaults suit one service. */
  readonly appConnections?: number;
  readonly ownerConnections?: number;
  /** How long callers wait for a connection or a lock. */
  readonly waitMs?: number;
}

/**
 * Opens both pools and checks the server's version.
 *
 * Connections of `app` work from the first migration on: before it their role does not exist.
 */
export async function openPools(options: PoolOptions): Promise<Pools> {
  const { target, log, waitMs = defaultWaitMs } = options;
  const app = makePool(
    { target, log, waitMs, max: options.appConnections ?? appConnections },
    {
      role: appRole,
      search_path: schemaName,
      statement_timeout: statementTimeoutMs,
      lock_timeout: waitMs,
      idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
    },
  );
  const owner = makePool(
    { target, log, waitMs, max: options.ownerConnections ?? ownerConnections },
    {
      search_path: schemaName,
      idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
    },
  );
  const close = once(() => closePools([app, owner], log));
  try {
    await checkVersion(owner.pool);
    await checkEncoding(owner.pool);
  } catch (error) {
    await close();
    throw error;
  }
  return { app: app.pool, owner: owner.pool, target, close };
}

/** One connection outside the pools, closed afterwards; for what a server's administrator does. */
export async function withConnection<T>(target: DatabaseTarget, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(connectionConfig(target));
  // A lost connection also fails its query. Without a listener the event would end the process.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The settings of `pg` for a target, with session settings in the startup packet. */
export function connectionConfig(
  target: DatabaseTarget,
  settings: Readonly<Record<string, string | number>> = {},
): pg.ClientConfig {
  const options = Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(" ");
  if (target.kind === "socket") {
    const { host, port, user, database } = target;
    // `ssl` is set because pg would otherwise take it from PGSSLMODE, and a socket has none.
    return { host, port, user, database, ssl: false, options };
  }
  const url = new URL(target.url);
  // pg lets a URL's own parameters win over the configuration, so ours go into it, last, where they win.
  url.searchParams.set("options", [url.searchParams.get("options"), options].filter(Boolean).join(" "));
  return { connectionString: url.href };
}

/** A pool, and an end of it that waits for the server. */
interface EndingPool {
  readonly pool: pg.Pool;
  /** Settles when every connection is closed. `pool.end` alone settles when the connections were asked to close. */
  end(): Promise<void>;
}

function makePool(
  { target, log, waitMs, max }: { target: DatabaseTarget; log: Log; waitMs: number; max: number },
  settings: Record<string, string | number>,
): EndingPool {
  const pool = new pg.Pool({
    ...connectionConfig(target, settings),
    application_name: "emanet",
    types: typeParsers,
    max,
    connectionTimeoutMillis: waitMs,
    idleTimeoutMillis: idleTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelayMs,
  });
  // One listener per connection for its whole life: the pool removes its own while a connection is in use. A connection that
  // is lost then, between two queries of a transaction, would emit an unhandled "error" event and end the process.
  const open = new Set<pg.PoolClient>();
  pool.on("connect", (client) => {
    open.add(client);
    client.once("end", () => open.delete(client));
    client.on("error", (error) => log.warn("database_connection_lost", errorFields(error)));
  });
  // The pool repeats the error of an idle connection, already logged above; without a listener that ends the process.
  pool.on("error", () => undefined);
  const end = async () => {
    await pool.end();
    await Promise.all([...open].map((client) => new Promise((resolve) => client.once("end", resolve))));
  };
  return { pool, end };
}

async function closePools(pools: readonly EndingPool[], log: Log): Promise<void> {
  const inTime = await doneWithin(closeTimeoutMs, Promise.all(pools.map((pool) => pool.end())));
  if (!inTime) log.warn("database_connections_not_returned");
}

/** `close` may be called twice, but a pool ends once. */
function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}

async function checkVersion(owner: pg.Pool): Promise<void> {
  const major = await serverMajor(owner);
  if (major < minMajorVersion) {
    throw new StartError(
      "database_version",
      `EMANET_DATABASE_URL is a PostgreSQL ${major}; ${minMajorVersion} or newer is needed. Upgrade that server or use another.`,
    );
  }
}

/** Other encodings cannot hold every name that customers have. */
async function checkEncoding(owner: pg.Pool): Promise<void> {
  const { rows } = await owner.query<{ server_encoding: string }>("show server_encoding");
  const encoding = rows[0]?.server_encoding;
  if (encoding === "UTF8") return;
  throw new StartError(
    "database_version",
    `The database of EMANET_DATABASE_URL has the encoding ${encoding}; UTF8 is needed. Create it again with encoding 'UTF8'.`,
  );
}

async function serverMajor(owner: pg.Pool): Promise<number> {
  try {
    const { rows } = await owner.query<{ server_version_num: string }>("show server_version_num");
    // 150004 is version 15.4.
    return Math.floor(Number(rows[0]?.server_version_num) / 10_000);
  } catch (error) {
    throw new StartError(
      "database_unreachable",
      `The database cannot be reached (${sqlState(error)}). Check EMANET_DATABASE_URL and that the server accepts its user.`,
      { cause: error },
    );
  }
}

/** A code that cannot carry data: PostgreSQL's SQLSTATE or the system's errno, never the message. */
function sqlState(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "unknown";
}
