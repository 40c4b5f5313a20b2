/**
 * Search and history over the projections of an account. Only rows of the given vaults are read: every index begins with the vault, and
 * equal names have other hashes in every vault.
 */

import { LruCache } from "@emanet/engine";
import type { Secrets } from "../kernel/secrets.ts";
import type { ReadTx } from "../kernel/tx.ts";
import { isMatch, parseQuery } from "./grams.ts";
import { PathKeys } from "./path-keys.ts";
import {
  type Block,
  blocksWithGrams,
  commonPaths,
  type FoundPath,
  newestVersions,
  type PathRow,
  type ProjectionProgress,
  progressOf,
  readPaths,
  type ShownVersion,
  versionsOfPath,
} from "./read-store.ts";
import { blockOf } from "./rules.ts";
import { openKey } from "./sealed-key.ts";
import { type ProjectionRow, projectionsOf } from "./store.ts";

export type { ProjectionProgress, ShownVersion };

/** Blocks that are looked at together, at first and at most: a few hundred lookups, and a few thousand when these were not enough. */
const firstBlocks = 64;
const mostBlocks = 512;
/** Names that are opened and compared together. */
const pathsAtOnce = 250;
/**
 * Names that one request compares. Names can be made so that they have all grams of a query and do not match; the next page goes on
 * with the others.
 */
const maxCompared = 5_000;

/** A file that was found: its newest version. */
export interface FoundFile extends Omit<FoundPath, "path"> {
  readonly vault_id: string;
  readonly path: Buffer;
  readonly position: SearchPosition;
}

/** Where a search goes on: vaults are in the order of their ids, the newest paths of each first. */
export interface SearchPosition {
  readonly vaultId: string;
  readonly path: number;
}

export interface SearchResult {
  readonly found: readonly FoundFile[];
  /** Null: everything was looked at. */
  readonly next: SearchPosition | null;
  readonly progress: ProjectionProgress;
}

interface Sources {
  readonly tx: ReadTx;
  readonly secrets: Secrets;
  readonly accountId: string;
}

/** Finds names. `vaultIds` is null for all vaults of the account. */
export async function searchNames(
  { tx, secrets, accountId }: Sources,
  wanted: {
    readonly query: string;
    readonly vaultIds: readonly string[] | null;
    readonly after: SearchPosition | null;
    readonly limit: number;
  },
): Promise<SearchResult> {
  // First: what is projected between two statements may be found and not be told, but not the other way round.
  const progress = await progressOf(tx, wanted.vaultIds === null ? { accountId } : { vaultIds: wanted.vaultIds });
  const query = parseQuery(wanted.query);
  if (query.grams.length === 0) return { found: [], next: null, progress };
  const projections = await projectionsOf(tx, accountId, wanted.vaultIds);
  const result = await new Search(tx, secrets, projections, query).run(wanted.after, wanted.limit);
  return { ...result, progress };
}

class Search {
  readonly #tx: ReadTx;
  readonly #query: ReturnType<typeof parseQuery>;
  readonly #vaults: ReadonlyMap<number, ProjectionRow>;
  readonly #keysOf: (vault: number) => PathKeys;
  readonly #gramsOf: (vault: number) => readonly number[];

  constructor(tx: ReadTx, secrets: Secrets, rows: readonly ProjectionRow[], query: ReturnType<typeof parseQuery>) {
    this.#tx = tx;
    this.#query = query;
    this.#vaults = new Map(rows.map((row) => [row.vault, row]));
    this.#keysOf = remembered((vault) => keysOf(secrets, this.#vault(vault)));
    this.#gramsOf = remembered((vault) => query.grams.map((gram) => this.#keysOf(vault).gram(gram)));
  }

  async run(after: SearchPosition | null, limit: number): Promise<Pick<SearchResult, "found" | "next">> {
    const found: FoundFile[] = [];
    let compared = 0;
    for await (const paths of this.#candidates(after, limit + 1)) {
      found.push(...(await this.#matching(paths)));
      compared += paths.length;
      const last = paths.at(-1);
      if (found.length > limit) {
        const shown = found.slice(0, limit);
        return { found: shown, next: shown.at(-1)?.position ?? null };
      }
      if (compared >= maxCompared && last !== undefined) return { found, next: this.#position(last) };
    }
    return { found, next: null };
  }

  /** Paths whose names may have every gram, in the order of the search. Most queries need no more than the first ones. */
  async *#candidates(
    after: SearchPosition | null,
    first: number,
  ): AsyncGenerator<readonly { vault: number; path: number }[]> {
    const blocks = [...this.#vaults.values()].flatMap((row) => blocksOf(row, after));
    let size = first;
    for (let at = 0, count = firstBlocks; at < blocks.length; at += count, count = Math.min(4 * count, mostBlocks)) {
      const some = blocks.slice(at, at + count);
      const rows = await blocksWithGrams(this.#tx, some, this.#gramsOf);
      const byBlock = new Map(rows.map((row) => [`${row.vault} ${row.block}`, row]));
      const paths = some.flatMap(({ vault, block }) => {
        const row = byBlock.get(`${vault} ${block}`);
        const all = row === undefined ? [] : commonPaths(block, row.offsets, row.lists);
        const before = after?.vaultId === this.#vault(vault).vault_id ? after.path : Number.POSITIVE_INFINITY;
        return all.filter((path) => path < before).map((path) => ({ vault, path }));
      });
      for (let from = 0; from < paths.length; ) {
        yield paths.slice(from, from + size);
        from += size;
        size = pathsAtOnce;
      }
    }
  }

  /** Those that match, with their newest versions, in the same order. */
  async #matching(paths: readonly { vault: number; path: number }[]): Promise<readonly FoundFile[]> {
    const opened = new Map<string, Buffer>();
    for (const row of await readPaths(this.#tx, paths)) {
      const path = this.#open(row);
      if (isMatch(this.#query, path.toString())) opened.set(`${row.vault} ${row.path}`, path);
    }
    const matching = paths.filter(({ vault, path }) => opened.has(`${vault} ${path}`));
    if (matching.length === 0) return [];
    const versions = await newestVersions(this.#tx, matching);
    const byPath = new Map(versions.map((version) => [`${version.vault} ${version.path}`, version]));
    return matching.flatMap((place) => {
      const name = `${place.vault} ${place.path}`;
      const [version, path] = [byPath.get(name), opened.get(name)];
      if (version === undefined || path === undefined) return [];
      return [{ ...version, path, vault_id: this.#vault(place.vault).vault_id, position: this.#position(place) }];
    });
  }

  #open({ vault, key, sealed }: PathRow): Buffer {
    return this.#keysOf(vault).unseal(key, sealed);
  }

  #position({ vault, path }: { vault: number; path: number }): SearchPosition {
    return { vaultId: this.#vault(vault).vault_id, path };
  }

  #vault(vault: number): ProjectionRow {
    const row = this.#vaults.get(vault);
    if (row === undefined) throw new Error("a row of a vault that was not asked for");
    return row;
  }
}

/** The blocks of a vault that a search after the given place looks at, the newest first. */
function blocksOf(row: ProjectionRow, after: SearchPosition | null): Block[] {
  if (row.next_path === 0 || row.is_clearing || (after !== null && row.vault_id < after.vaultId)) return [];
  const before = after !== null && after.vaultId === row.vault_id ? after.path : row.next_path;
  const newest = Math.min(before, row.next_path - 1);
  return Array.from({ length: blockOf(newest) + 1 }, (_, i) => ({ vault: row.vault, block: blockOf(newest) - i }));
}

/** Vaults whose keys are kept. A search over an office opens those of hundreds, and comes again with every letter. */
const maxKeptKeys = 2_000;
const keptKeys = new WeakMap<Secrets, LruCache<string, PathKeys>>();

function keysOf(secrets: Secrets, row: ProjectionRow): PathKeys {
  const kept = keptKeys.get(secrets) ?? new LruCache<string, PathKeys>(maxKeptKeys);
  keptKeys.set(secrets, kept);
  const name = `${row.vault_id} ${row.sealed_key.toString("base64")}`;
  const keys = kept.get(name) ?? new PathKeys(openKey(secrets, row));
  kept.set(name, keys, 1);
  return keys;
}

function remembered<K, V>(make: (key: K) => V): (key: K) => V {
  const known = new Map<K, V>();
  return (key) => {
    const value = known.get(key) ?? make(key);
    known.set(key, value);
    return value;
  };
}

export interface History {
  readonly versions: readonly ShownVersion[];
  readonly progress: ProjectionProgress;
}

/** The versions of a path of a source, the newest first. */
export async function historyOf(
  { tx, secrets, accountId }: Sources,
  { sourceId, vaultId, path }: { readonly sourceId: string; readonly vaultId: string; readonly path: Buffer },
  page: { readonly before: string | null; readonly take: number },
): Promise<History> {
  // First, as in a search.
  const progress = await progressOf(tx, { vaultId, sourceId });
  const [projection] = await projectionsOf(tx, accountId, [vaultId]);
  if (projection === undefined || projection.is_clearing) return { versions: [], progress };
  const key = keysOf(secrets, projection).pathKey(sourceId, path);
  return { versions: await versionsOfPath(tx, { vault: projection.vault, key, sourceId }, page), progress };
}
