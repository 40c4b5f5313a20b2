/**
 * The embedded database: a real PostgreSQL server that lives and dies with the service. Its nouns: the *cluster* is its
 * files in `<data>/postgres`; the *socket folder* is a short, private folder outside the data folder (the path of a
 * socket has about 100 characters, a data folder may be deep); the *note*, the link `<data>/postgres.socket`, says where
 * that is.
 *
 * A start goes: refuse a cluster of another version → find out as whom to run → clear what a killed service left →
 * make the cluster if there is none → run the server → wait until it says it is ready → make its role and database.
 * Each step can be cut off by kill -9 and begun again.
 *
 * Invariants: the caller holds the lock of the data folder. Nothing listens on TCP. After `stop` no process and no
 * socket folder is left. What the server acknowledged is on disk.
 */

import { mkdtemp, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { withConnection } from "../database/pool.ts";
import type { SocketTarget } from "../database/target.ts";
import type { Log } from "../log.ts";
import type { StartError } from "../start-error.ts";
import { findBinaries, type PostgresBinaries } from "./binaries.ts";
import { createCluster, inspectCluster, superuser } from "./cluster.ts";
import { chooseLauncher, giveTo, type Launcher } from "./launcher.ts";
import { clearLeftovers, clearSocketFolder } from "./orphan.ts";
import { type RunningServer, startServer } from "./server.ts";
import { socketPort } from "./settings.ts";

/** The role that owns the service's database, and that database. Like an operator's own: no superuser. */
const ownerRole = "emanet";

/** Two pools, the job queue, and a few connections for an operator. */
const defaultMaxConnections = 40;

/** sockaddr_un holds 104 bytes on macOS, 108 on Linux; the file name and the final zero take 15 of them. */
const socketFolderBytesMax = 104 - 15;
const socketFolderPrefix = "emanet-pg-";
const socketFolderName = /^emanet-pg-[A-Za-z0-9]{6}$/;

export interface EmbeddedPostgresOptions {
  /** The data folder, locked by this process. */
  readonly folder: string;
  readonly log: Log;
  /** Folder with the programs `postgres` and `initdb`; default: the ones that npm brought. */
  readonly binaries?: string | undefined;
  /** False only for the clusters of tests, which need not survive a power cut. */
  readonly durable?: boolean;
  readonly maxConnections?: number;
  /** False only in the test of a server that outlives its service. */
  readonly tied?: boolean;
}

export interface EmbeddedPostgres {
  /** The service's database, as its owner. */
  readonly connection: SocketTarget;
  /** The server's own administrator, for tests. */
  readonly admin: SocketTarget;
  /** The process id of the server. */
  readonly pid: number;
  /** Settles when the server ends without having been asked to: the service cannot go on. */
  readonly lost: Promise<StartError>;
  /** Ends the server, in bounded time. Close the pools first: it ends their sessions. */
  stop(): Promise<void>;
}

/** Starts the server of a data folder, making its cluster if needed. Throws a {@link StartError}. */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log } = options;
  const folder = await realpath(options.folder);
  const cluster = path.join(folder, "postgres");
  const note = path.join(folder, "postgres.socket");
  const binaries = await findBinaries(options.binaries);
  const launcher = await prepareCluster(folder, cluster, binaries, options);
  await clearSocketFolder(note, socketFolderName);
  const socketFolder = await makeSocketFolder();
  await symlink(socketFolder, note);
  const forget = async () => {
    await rm(socketFolder, { recursive: true, force: true });
    await rm(note, { force: true });
  };
  try {
    const server = await startServer({
      folder,
      cluster,
      postgres: binaries.postgres,
      launcher,
      settings: {
        socketFolder,
        durable: options.durable ?? true,
        maxConnections: options.maxConnections ?? defaultMaxConnections,
      },
      log,
    });
    const connections = await makeDatabase(socketFolder, server);
    log.info("postgres_started", { pid: server.pid, version: String(binaries.major) });
    const stop = async () => {
      await server.stop();
      await forget();
    };
    return { ...connections, pid: server.pid, lost: server.lost, stop };
  } catch (error) {
    await forget();
    throw error;
  }
}

async function prepareCluster(
  folder: string,
  cluster: string,
  binaries: PostgresBinaries,
  options: EmbeddedPostgresOptions,
): Promise<Launcher> {
  const clusterOwner = await inspectCluster(cluster, binaries);
  const { postgres } = binaries;
  const launcher = await chooseLauncher({ folder, postgres, clusterOwner, tied: options.tied ?? true });
  if (clusterOwner === null) {
    await createCluster({ cluster, binaries, launcher, durable: options.durable ?? true });
    return launcher;
  }
  await clearLeftovers(cluster, options.log);
  if (launcher.owner !== undefined && launcher.owner.uid !== clusterOwner.uid) await giveTo(launcher.owner, cluster);
  return launcher;
}

/** In the system's folder for temporary files, or in /tmp where that one is too deep. */
async function makeSocketFolder(): Promise<string> {
  const name = `${socketFolderPrefix}XXXXXX`;
  const parent = [tmpdir(), "/tmp"].find(
    (folder) => Buffer.byteLength(path.join(folder, name)) <= socketFolderBytesMax,
  );
  // mkdtemp makes it with mode 0700.
  return mkdtemp(path.join(parent ?? "/tmp", socketFolderPrefix));
}

/** Makes the service's role and database; both repeatable, because a start may have been cut off between them. */
async function makeDatabase(
  socketFolder: string,
  server: RunningServer,
): Promise<Pick<EmbeddedPostgres, "connection" | "admin">> {
  const admin = {
    kind: "socket",
    host: socketFolder,
    port: socketPort,
    user: superuser,
    database: "postgres",
  } as const;
  try {
    await withConnection(admin, async (client) => {
      const role = await client.query("select from pg_roles where rolname = $1", [ownerRole]);
      if (role.rowCount === 0) await client.query(`create role ${ownerRole} login createrole`);
      const database = await client.query("select from pg_database where datname = $1", [ownerRole]);
      if (database.rowCount === 0) await client.query(`create database ${ownerRole} owner ${ownerRole}`);
    });
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { admin, connection: { ...admin, user: ownerRole, database: ownerRole } };
}
