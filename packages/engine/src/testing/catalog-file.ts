/**
 * The file of a SQLite catalog that many simulations use, one after the other. The file is in memory where the system
 * has a folder for that: a step of the catalog syncs several times, which is slow on a disk.
 */

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { tables } from "../catalog/sqlite/rows.ts";

/** Linux keeps the files of this folder in memory. */
const memoryFolder = "/dev/shm";

export class CatalogFile {
  readonly #folder = mkdtempSync(path.join(existsSync(memoryFolder) ? memoryFolder : tmpdir(), "emanet-simulation-"));
  readonly path = path.join(this.#folder, "catalog");
  readonly #database = new DatabaseSync(this.path);
  /** Empties the catalog; null before its first use. */
  #resetSql: string | null = null;

  constructor() {
    // Small pages: a step changes a few rows of many tables, and writes every page that it changes.
    this.#database.exec("pragma page_size = 512; pragma journal_mode = wal; pragma synchronous = off");
  }

  /** Empties a catalog that was opened on this file. Its numbers are again those of a new catalog. */
  reset(): void {
    this.#resetSql ??= this.#makeResetSql();
    this.#database.exec(this.#resetSql);
  }

  remove(): void {
    this.#database.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The numbers are those of the first call, when the catalog is new. */
  #makeResetSql(): string {
    const numbers = this.#database.prepare("select name, value from numbers").all();
    const resets = numbers.map(({ name, value }) => `update numbers set value = ${value} where name = '${name}'`);
    const deletes = tables.map((table) => `delete from ${table}`);
    return ["begin immediate", ...deletes, ...resets, "commit"].join(";");
  }
}
