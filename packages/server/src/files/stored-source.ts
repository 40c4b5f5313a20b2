/**
 * The files of a closed upload as a source of a backup: rows in the order of a walk, page by page. Nothing is read again; what is
 * stored is acquired for the upload that makes the tree.
 */

import {
  type BackupSource,
  DamageError,
  type DirectoryEntry,
  decodePart,
  decodeRecipe,
  type FileReader,
  findEntry,
  ordinalsOfPart,
  rootEntry,
  type SourceEvent,
  type StoredFile,
  type StoredPart,
  type Vault,
} from "@emanet/engine";
import { engineId, type SnapshotRecord } from "../snapshots/index.ts";
import { bytesOfKey } from "./file-paths.ts";
import type { FileRow } from "./store.ts";

/** Content that was stored for the snapshot can no longer be read: it must be sent again. */
export class LostContentError extends Error {
  override readonly name = "LostContentError";
}

export interface StoredSourceOptions {
  readonly record: SnapshotRecord;
  readonly vault: Vault;
  /** The upload that makes the tree. */
  readonly upload: string;
  readonly reader: FileReader;
  /** A page of files after a key, with their parts. */
  readonly page: (after: Buffer) => Promise<readonly (FileRow & { readonly parts: readonly Buffer[] })[]>;
}

/** Directories that no client names (contract), as those of an archive. */
const impliedDirectory = { mode: 0o755, uid: 0, gid: 0, mtimeSeconds: 0, mtimeNanos: 0, attributes: [] } as const;

const noChangeStat = { inode: 0n, ctimeNs: 0n };
const nowhere = { path: new Uint8Array(0), offset: 0 };
const slash = 0x2f;

export function storedSource(options: StoredSourceOptions): BackupSource {
  return { walk: () => walk(options) };
}

async function* walk(options: StoredSourceOptions): AsyncGenerator<SourceEvent> {
  const parents = new ParentTree(options);
  /** Where the paths of the open directories end, and the same directories of the parent. */
  let open: { readonly path: Buffer; readonly parent: DirectoryEntry | null }[] = [];
  const enter = (path: Buffer, parent: DirectoryEntry | null): SourceEvent => {
    open.push({ path, parent });
    return { type: "enter", path, stat: { ...impliedDirectory, name: nameOf(path) } };
  };
  yield enter(Buffer.alloc(0), await parents.root());
  for await (const { row, stored } of storedFiles(options)) {
    const path = bytesOfKey(row.path_key);
    while (open.length > 1 && !isBelow(path, open.at(-1)?.path ?? path)) {
      open = open.slice(0, -1);
      yield { type: "leave" };
    }
    const from = open.at(-1)?.path.length ?? 0;
    for (let end = path.indexOf(slash, from + 1); end >= 0; end = path.indexOf(slash, end + 1)) {
      const directory = path.subarray(0, end);
      yield enter(directory, await parents.directory(open.at(-1)?.parent ?? null, nameOf(directory)));
    }
    const mtime = await mtimeOf(parents, open.at(-1)?.parent ?? null, row, nameOf(path));
    yield {
      ...{ type: "file", path, size: row.size_bytes, changeStat: noChangeStat, content: nowhere, stored },
      stat: { name: nameOf(path), mode: row.mode, uid: 0, gid: 0, ...mtime, attributes: [] },
      ...(row.sha256 !== null && { sha256: row.sha256 }),
    };
  }
  for (const _ of open) yield { type: "leave" };
}

/** All files, each with what is stored of it. */
async function* storedFiles(
  options: StoredSourceOptions,
): AsyncGenerator<{ readonly row: FileRow; readonly stored: StoredFile }> {
  let after: Buffer = Buffer.alloc(0);
  for (;;) {
    const rows = await options.page(after);
    if (rows.length === 0) return;
    const files = rows.map((row) => ({ row, parts: row.parts.map(decodePart) }));
    const recipes = await acquire(
      options,
      files.flatMap(({ parts }) => parts),
    );
    for (const { row, parts } of files) {
      after = row.path_key;
      yield { row, stored: fileOf(parts, recipes) };
    }
  }
}

/** Items in one step of the catalog. */
const maxOrdinals = 4096;

/** Holds everything that the parts need for the upload. Returns the recipes of the small files. */
async function acquire(
  { vault, upload }: StoredSourceOptions,
  parts: readonly StoredPart[],
): Promise<ReadonlyMap<number, Uint8Array>> {
  const ordinals = [...new Set(parts.flatMap(ordinalsOfPart))];
  for (let at = 0; at < ordinals.length; at += maxOrdinals) {
    const held = await vault.catalog.acquireOrdinals(upload, ordinals.slice(at, at + maxOrdinals));
    if (held.includes(false)) throw new LostContentError();
  }
  const small = parts.flatMap((part) => (part.kind === "blocks" ? [part.ordinal] : []));
  const recipes = new Map<number, Uint8Array>();
  for (const item of await vault.catalog.itemsByOrdinal(small))
    if (item !== null) recipes.set(item.ordinal, item.recipe);
  return recipes;
}

function fileOf(parts: readonly StoredPart[], recipes: ReadonlyMap<number, Uint8Array>): StoredFile {
  const [first] = parts;
  if (first?.kind !== "blocks")
    return { kind: "segments", segments: parts.flatMap((part) => (part.kind === "segments" ? part.segments : [])) };
  const recipe = recipes.get(first.ordinal);
  if (recipe === undefined) throw new LostContentError();
  return { ...first, recipe: decodeRecipe(recipe) };
}

/** The time that the client gave; else the parent's, if the content is equal; else that of receipt. */
async function mtimeOf(parents: ParentTree, directory: DirectoryEntry | null, row: FileRow, name: Buffer) {
  if (row.mtime_seconds !== null) return { mtimeSeconds: row.mtime_seconds, mtimeNanos: row.mtime_nanos ?? 0 };
  const before = await parents.file(directory, name);
  if (before !== null && row.hash.equals(before.hash))
    return { mtimeSeconds: before.mtimeSeconds, mtimeNanos: before.mtimeNanos };
  const ms = row.received_at.getTime();
  const mtimeSeconds = Math.floor(ms / 1000);
  return { mtimeSeconds, mtimeNanos: (ms - mtimeSeconds * 1000) * 1_000_000 };
}

/** The tree of the parent snapshot. Where it cannot be read, there is none: only times are taken from it. */
class ParentTree {
  readonly #options: StoredSourceOptions;

  constructor(options: StoredSourceOptions) {
    this.#options = options;
  }

  async root(): Promise<DirectoryEntry | null> {
    const { record, vault, reader } = this.#options;
    const row = record.parent_id === null ? null : await vault.catalog.snapshot(engineId(record.parent_id));
    return row === null ? null : readable(() => rootEntry(reader.frames, row));
  }

  async directory(above: DirectoryEntry | null, name: Buffer): Promise<DirectoryEntry | null> {
    const entry = await this.#entry(above, name);
    return entry?.type === "directory" ? entry : null;
  }

  async file(above: DirectoryEntry | null, name: Buffer) {
    const entry = await this.#entry(above, name);
    return entry?.type === "file" ? entry : null;
  }

  async #entry(above: DirectoryEntry | null, name: Buffer) {
    return above === null ? null : readable(() => findEntry(this.#options.reader.frames, above.root, name));
  }
}

async function readable<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof DamageError) return null;
    throw error;
  }
}

function isBelow(path: Buffer, directory: Buffer): boolean {
  return path[directory.length] === slash && path.subarray(0, directory.length).equals(directory);
}

function nameOf(path: Buffer): Buffer {
  return path.subarray(path.lastIndexOf(slash) + 1);
}
