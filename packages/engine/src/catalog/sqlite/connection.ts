/**
 * The open SQLite file of a catalog: prepared statements and transactions. A transaction is synchronous, so that no other
 * step of this process runs within it.
 */

import { DatabaseSync } from "node:sqlite";
import type { Sql } from "./rows.ts";
import { statements } from "./rows.ts";

/** How long a statement waits for the transaction of another process. */
const busyTimeoutMs = 10_000;

/** Page cache: small, because the memory of a backup is bounded and the system caches the file anyway. */
const cacheKib = 2 * 1024;

/**
 * Called before each statement outside of a write transaction. The simulation runs a step of another process there. A
 * write transaction has the database for itself: others wait, or read the state before it.
 */
export type BeforeStatement = () => void;

export class Connection {
  readonly sql: Sql;
  readonly #database: DatabaseSync;
  #isWriting = false;

  constructor(path: string, before?: BeforeStatement) {
    this.#database = new DatabaseSync(path);
    this.#database.exec(
      `pragma journal_mode = wal; pragma synchronous = full; pragma busy_timeout = ${busyTimeoutMs};` +
        `pragma cache_size = -${cacheKib}; pragma temp_store = memory`,
    );
    this.sql = statements(this.#database, before && (() => this.#isWriting || before()));
  }

  /** Runs several statements that are not prepared. */
  exec(statements: string): void {
    this.#database.exec(statements);
  }

  write<T>(work: () => T): T {
    return this.#transaction("begin immediate", () => {
      this.#isWriting = true;
      return work();
    });
  }

  /** A step that a power cut may undo: pins and leases. A backup takes thousands of them. */
  writeWithoutSync<T>(work: () => T): T {
    this.#database.exec("pragma synchronous = normal");
    try {
      return this.write(work);
    } finally {
      this.#database.exec("pragma synchronous = full");
    }
  }

  /** Runs statements that see one state of the database, even if another process commits meanwhile. */
  read<T>(work: () => T): T {
    return this.#transaction("begin", work);
  }

  close(): void {
    this.#database.close();
  }

  #transaction<T>(begin: string, work: () => T): T {
    this.sql(begin).run();
    try {
      const result = work();
      this.#database.exec("commit");
      return result;
    } catch (error) {
      this.#database.exec("rollback");
      throw error;
    } finally {
      this.#isWriting = false;
    }
  }
}
