/**
 * The schema's history. A *migration* is a file `NNNN_name.sql` in `packages/server/migrations`; its *checksum* is the
 * SHA-256 of its text; the *journal* is the table `emanet_meta.migrations`, one row per migration applied.
 *
 * Invariants: the journal is always a prefix of the files: same numbers, names and checksums. Migrations only go
 * forward. Each runs in one transaction together with its journal row, so a crash leaves it done or not begun. A process
 * that migrates holds an advisory lock; the others wait for it, then find nothing to do.
 */

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import type pg from "pg";
import type { Log } from "../log.ts";
import { StartError } from "../start-error.ts";

export const migrationsFolder = path.resolve(import.meta.dirname, "../../../migrations");

export interface Migration {
  readonly number: number;
  /** The file's name without `.sql`. */
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

export interface MigrateOptions {
  /** The owner pool: migrations create roles and tables. */
  readonly owner: pg.Pool;
  readonly log: Log;
  /** Default: the files of this release. */
  readonly migrations?: readonly Migration[];
}

/** Applies what is missing, in order, and returns the names of the migrations it applied. */
export async function migrate(options: MigrateOptions): Promise<readonly string[]> {
  const migrations = options.migrations ?? (await readMigrations());
  const client = await options.owner.connect();
  try {
    await takeLock(client);
    await makeJournal(client);
    const pending = missing(migrations, await readJournal(client));
    for (const migration of pending) {
      await apply(client, migration);
      options.log.info("migration_applied", { migration: migration.name });
    }
    return pending.map((migration) => migration.name);
  } finally {
    // Closing the connection frees the lock and drops what a migration set in the session.
    client.release(true);
  }
}

/**
 * The names of the migrations that the database lacks, without changing it: for roles that must not migrate by
 * themselves. Throws like {@link migrate} where the database and the files do not fit together.
 */
export async function pendingMigrations(options: Omit<MigrateOptions, "log">): Promise<readonly string[]> {
  const migrations = options.migrations ?? (await readMigrations());
  const client = await options.owner.connect();
  try {
    return missing(migrations, await readJournal(client)).map((migration) => migration.name);
  } finally {
    client.release();
  }
}

/** Reads a folder of migrations and checks that they are numbered 1, 2, 3 … without a gap, and that the folder has no other file. */
export async function readMigrations(folder: string = migrationsFolder): Promise<readonly Migration[]> {
  const files = (await readdir(folder)).sort();
  return Promise.all(
    files.map(async (file, index) => {
      const name = /^(\d{4}_[a-z0-9_]+)\.sql$/.exec(file)?.[1];
      const number = index + 1;
      if (name === undefined || Number(name.slice(0, 4)) !== number) {
        throw new StartError(
          "migration_files",
          `${path.join(folder, file)} was found where migration ${String(number).padStart(4, "0")}_….sql is expected. ` +
            "Migrations are numbered without gaps and the folder holds nothing else.",
        );
      }
      // A checkout that rewrote line ends has the same migration.
      const sql = (await readFile(path.join(folder, file), "utf8")).replaceAll("\r\n", "\n");
      return { number, name, sql, checksum: createHash("sha256").update(sql).digest("hex") };
    }),
  );
}

interface JournalRow {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
}

/** In a separate schema, because it must exist before the first migration creates the others. */
const journalSql = `
  create schema if not exists emanet_meta;
  create table if not exists emanet_meta.migrations (
    number integer primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now()
  )`;

/** SQLSTATE insufficient_privilege. */
const insufficientPrivilege = "42501";

async function makeJournal(client: pg.PoolClient): Promise<void> {
  try {
    await client.query(journalSql);
  } catch (error) {
    if ((error as { code?: unknown }).code !== insufficientPrivilege) throw error;
    throw new StartError(
      "database_rights",
      "The database's user may not make a schema in it. Make that user the owner of the database " +
        "(alter database … owner to …), with CREATEROLE for the first start, and start again.",
      { cause: error },
    );
  }
}

/** Any constant that nothing else uses: "emanet" in ASCII. */
const lockKey = 0x656d616e6574;

/** Longer than the migration of a large table by another process. After it, the holder of the lock probably hangs. */
const lockWaitMs = 10 * 60_000;

async function takeLock(client: pg.PoolClient): Promise<void> {
  try {
    await client.query(`set lock_timeout = ${lockWaitMs}`);
    await client.query("select pg_advisory_lock($1)", [lockKey]);
    await client.query("reset lock_timeout");
  } catch (error) {
    throw new StartError(
      "migration_locked",
      `Another process has been migrating this database for more than ${lockWaitMs / 60_000} minutes. ` +
        "Find it in pg_stat_activity, let it finish or end it, and start again.",
      { cause: error },
    );
  }
}

async function readJournal(client: pg.PoolClient): Promise<readonly JournalRow[]> {
  const found = await client.query<{ journal: string | null }>(
    "select to_regclass('emanet_meta.migrations')::text as journal",
  );
  if ((found.rows[0]?.journal ?? null) === null) return [];
  const { rows } = await client.query<JournalRow>(
    "select number, name, checksum from emanet_meta.migrations order by number",
  );
  return rows;
}

function missing(migrations: readonly Migration[], journal: readonly JournalRow[]): readonly Migration[] {
  for (const [index, row] of journal.entries()) {
    const file = migrations[index];
    if (row.number > migrations.length) {
      throw new StartError(
        "database_newer",
        `The database was migrated by a newer release (it has ${row.name}). Start that release, or restore a backup.`,
      );
    }
    if (file?.number !== row.number || file.name !== row.name || file.checksum !== row.checksum) {
      throw new StartError(
        "migration_changed",
        `Migration ${row.name} was applied to this database with another text than ${file?.name ?? "no"}.sql has now. ` +
          "Applied migrations are never edited: restore the file and write a new migration.",
      );
    }
  }
  return migrations.slice(journal.length);
}

/** A statement that waits for a table's lock blocks all statements after it. So a migration gives up and can be repeated. */
const tableLockWaitMs = 30_000;

async function apply(client: pg.PoolClient, migration: Migration): Promise<void> {
  try {
    await client.query("begin");
    await client.query(`set local lock_timeout = ${tableLockWaitMs}`);
    const transaction = await transactionId(client);
    await client.query(migration.sql);
    if ((await transactionId(client)) !== transaction) throw new Error("it ends its own transaction");
    await client.query("insert into emanet_meta.migrations (number, name, checksum) values ($1, $2, $3)", [
      migration.number,
      migration.name,
      migration.checksum,
    ]);
    await client.query("commit");
    // What a migration set for its session must not reach the next one.
    await client.query("reset all");
  } catch (error) {
    throw new StartError(
      "migration_failed",
      `Migration ${migration.name} failed and was rolled back: ${error instanceof Error ? error.message : error}`,
      { cause: error },
    );
  }
}

async function transactionId(client: pg.PoolClient): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>("select pg_current_xact_id()::text as id");
  return rows[0]?.id;
}
