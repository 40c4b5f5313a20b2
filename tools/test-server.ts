/**
 * A PostgreSQL server for one run of the tests or the generators: in a temporary folder, with a migrated *template*
 * that databases are copied from. It is removed afterwards. `EMANET_TEST_PG_BIN` names the folder of another server's programs
 * (e.g. `/usr/lib/postgresql/15/bin`), to run the tests on an older PostgreSQL.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { freemem, tmpdir } from "node:os";
import path from "node:path";
import { systemClock } from "../packages/server/src/kernel/clock.ts";
import { migrate } from "../packages/server/src/kernel/database/migrate.ts";
import { openPools } from "../packages/server/src/kernel/database/pool.ts";
import { createLog } from "../packages/server/src/kernel/log.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../packages/server/src/kernel/postgres/embedded.ts";
import type { TestServer } from "../packages/server/src/testing/database.ts";

/** Several test files at a time, each with its pools. */
const maxConnections = 200;

const log = createLog({ level: "warn", clock: systemClock, write: (line) => process.stderr.write(line) });

export interface RunningTestServer {
  readonly server: TestServer;
  /** For the temporary files of the run; removed with everything in it. */
  readonly temporary: string;
  stop(): Promise<void>;
}

export interface TestServerOptions {
  /** The run may write more than fits into memory. */
  readonly large?: boolean;
  /** Commits wait for the disk, as an operator's do: for measurements. On disk, also where memory would do. */
  readonly durable?: boolean;
  /** The server of an outer run, to be used instead of a new one. */
  readonly outer?: TestServer | null;
}

export async function startTestServer(options: TestServerOptions = {}): Promise<RunningTestServer> {
  const { large = false, durable = false, outer = null } = options;
  const folder = await mkdtemp(path.join(large || durable ? tmpdir() : baseFolder(), "emanet-test-"));
  const binaries = process.env.EMANET_TEST_PG_BIN || undefined;
  let postgres: EmbeddedPostgres | undefined;
  const stop = async () => {
    await postgres?.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  };
  try {
    if (outer !== null) return { server: outer, temporary: await makeTemporary(folder), stop };
    postgres = await startEmbeddedPostgres({ folder, log, binaries, durable, maxConnections });
    const { admin, connection } = postgres;
    await migrateTemplate(connection);
    const server = { admin, owner: connection.user, template: connection.database };
    return { server, temporary: await makeTemporary(folder), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A folder in memory, where the system has one. */
const memoryFolder = "/dev/shm";

/** A whole run takes a third of a gigabyte at most; the rest is for the tests' own processes. */
const memoryFolderBytes = 4 * 1024 ** 3;

/**
 * Where a run's files go: the folder that TMPDIR names; else memory, where there is plenty of it, since a tenth of a run
 * is spent waiting for a disk; else the usual folder.
 */
function baseFolder(): string {
  if (process.env.TMPDIR || !mayRunPrograms(memoryFolder)) return tmpdir();
  const { bavail, bsize } = statfsSync(memoryFolder);
  return Math.min(bavail * bsize, freemem()) >= memoryFolderBytes ? memoryFolder : tmpdir();
}

/** Tests make programs and run them; containers often forbid that in memory. */
function mayRunPrograms(folder: string): boolean {
  try {
    const probe = mkdtempSync(path.join(folder, "emanet-probe-"));
    try {
      const program = path.join(probe, "program");
      writeFileSync(program, "#!/bin/sh\n", { mode: 0o700 });
      return spawnSync(program).status === 0;
    } finally {
      rmSync(probe, { recursive: true });
    }
  } catch {
    // There is no such folder, or we may not write to it.
    return false;
  }
}

/** Like /tmp: tests run programs as other users, too. A short name, because sockets are made in it. */
async function makeTemporary(folder: string): Promise<string> {
  const temporary = path.join(folder, "t");
  await mkdir(temporary);
  await chmod(folder, 0o711);
  await chmod(temporary, 0o1777);
  return temporary;
}

/** The service's own database is the template: the one place where migrations run as they do for an operator. */
async function migrateTemplate(target: EmbeddedPostgres["connection"]): Promise<void> {
  const pools = await openPools({ target, log });
  try {
    await migrate({ owner: pools.owner, log });
  } finally {
    // A database with a connection cannot be copied.
    await pools.close();
  }
}
