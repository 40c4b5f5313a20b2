/**
 * Objects as files below one folder (`file-layout.ts` says where).
 *
 * A put, step by step: write a temporary file → sync it → make the folders → `rename` it into place (`link` for
 * `ifAbsent`: the kernel refuses an existing name, so exactly one process succeeds) → sync the folder. A crash or a
 * full disk before the rename leaves the old state and a temporary file, which a later open removes; after it, the new
 * state. A put that failed removes its temporary file itself.
 *
 * Invariants: a file under an object's name is whole and never written to again; every path is built from a checked
 * name, and the last step of it is never a followed link; files are 0600, folders 0700; nothing is said to be missing or deleted
 * while the folder itself is away.
 */

import { constants } from "node:fs";
import { type FileHandle, link, lstat, open, rename, unlink } from "node:fs/promises";
import path from "node:path";
import {
  assertByteRange,
  assertListPrefix,
  assertObjectName,
  type CallOptions,
  type GetOptions,
  type ListOptions,
  type ObjectBody,
  type ObjectEntry,
  type ObjectStat,
  type ObjectStore,
  ObjectStoreError,
  type PutOptions,
} from "@emanet/engine/object-store";
import { readBody, throwIfAborted } from "./body.ts";
import { fileError, isMissing, systemCode } from "./file-errors.ts";
import { Folders, type SyncPolicy } from "./file-folders.ts";
import { layoutFile, locate } from "./file-layout.ts";
import { walkStore } from "./file-list.ts";
import { prepareRoot, removeLeftovers, temporaryPath } from "./file-root.ts";
import { writeAll } from "./file-write.ts";

export interface FileStoreOptions {
  /** The folder. It holds nothing but the store. */
  readonly root: string;
  /** Default `full`. */
  readonly sync?: SyncPolicy | undefined;
  /**
   * Whether a missing or empty folder becomes a new store (default true). Use false if the store must already
   * exist: an unmounted disk looks like an empty folder.
   */
  readonly create?: boolean | undefined;
  /** Milliseconds since 1970: tells old leftovers from what is being written now. */
  readonly now: () => number;
  /** Names temporary files. */
  readonly randomBytes: (count: number) => Uint8Array;
}

/** Opens (and where allowed makes) a store in a folder. Rejects with `unsupported` if the file system lacks what the port needs. */
export async function openFileStore(options: FileStoreOptions): Promise<FileStore> {
  const root = path.resolve(options.root);
  const folders = new Folders(root, options.sync ?? "full");
  try {
    await prepareRoot({ ...options, root, folders, create: options.create ?? true });
  } catch (error) {
    throw fileError(error, "open the file store");
  }
  return new FileStore({ ...options, root }, folders);
}

/** Read between two checks of the caller's signal. */
const readStepBytes = 8 * 1024 * 1024;

const fileMode = 0o600;

/** No link is followed and no pipe waited for; Windows has neither flag. */
const readFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Made by `openFileStore`. */
export class FileStore implements ObjectStore {
  readonly #root: string;
  readonly #syncFiles: boolean;
  readonly #randomBytes: (count: number) => Uint8Array;
  readonly #now: () => number;
  readonly #folders: Folders;

  constructor(options: FileStoreOptions, folders: Folders) {
    this.#root = options.root;
    this.#syncFiles = (options.sync ?? "full") === "full";
    this.#randomBytes = options.randomBytes;
    this.#now = options.now;
    this.#folders = folders;
  }

  /** Removes what killed processes left. Opening does it too; this is for a process that runs for months. */
  async removeLeftovers(): Promise<void> {
    await this.#assertThere();
    try {
      await removeLeftovers({ root: this.#root, folders: this.#folders, now: this.#now });
    } catch (error) {
      throw fileError(error, "remove leftovers");
    }
  }

  /** The time that the file system gives to a new file, in milliseconds since 1970. */
  async time(): Promise<number> {
    try {
      const { handle, file } = await this.#createTemporary();
      try {
        return (await handle.stat()).mtimeMs;
      } finally {
        await handle.close();
        await discard(file);
      }
    } catch (error) {
      throw fileError(error, "read the time");
    }
  }

  async put(name: string, body: ObjectBody, options: PutOptions = {}): Promise<void> {
    assertObjectName(name);
    throwIfAborted(options.signal);
    const ifAbsent = options.ifAbsent ?? false;
    // Saves writing 64 MiB for nothing. The kernel decides in #publish.
    if (ifAbsent && (await this.stat(name)) !== null) throw await this.#taken(name);
    try {
      const temporary = await this.#spool(body, options);
      try {
        await this.#publish(temporary, name, ifAbsent);
      } finally {
        await discard(temporary);
      }
    } catch (error) {
      throw fileError(error, `put ${name}`);
    }
  }

  async get(name: string, options: GetOptions = {}): Promise<Uint8Array> {
    assertObjectName(name);
    if (options.range !== undefined) assertByteRange(options.range);
    throwIfAborted(options.signal);
    try {
      const handle = await open(this.#fileOf(name), readFlags);
      try {
        const { size } = await handle.stat();
        const { offset, length } = options.range ?? { offset: 0, length: size };
        if (offset + length > size) {
          throw new ObjectStoreError("range", `${name} has ${size} bytes, asked up to ${offset + length}`);
        }
        return await readExactly(handle, offset, length, options.signal);
      } finally {
        await handle.close();
      }
    } catch (error) {
      if (!isMissing(error)) throw fileError(error, `get ${name}`);
      await this.#assertThere();
      throw new ObjectStoreError("not_found", name);
    }
  }

  async stat(name: string, options: CallOptions = {}): Promise<ObjectStat | null> {
    assertObjectName(name);
    throwIfAborted(options.signal);
    try {
      const stat = await lstat(this.#fileOf(name));
      return stat.isFile() ? { size: stat.size } : null;
    } catch (error) {
      if (!isMissing(error)) throw fileError(error, `stat ${name}`);
      await this.#assertThere();
      return null;
    }
  }

  async *list(prefix: string, options: ListOptions = {}): AsyncGenerator<ObjectEntry, void> {
    const { after = "", signal } = options;
    assertListPrefix(prefix);
    assertListPrefix(after);
    throwIfAborted(signal);
    try {
      for await (const entry of walkStore({ root: this.#root, prefix, after })) {
        throwIfAborted(signal);
        yield entry;
      }
      // Otherwise the list may lack what was there a moment ago.
      await this.#assertThere();
    } catch (error) {
      throw fileError(error, `list ${prefix}`);
    }
  }

  async delete(name: string, options: CallOptions = {}): Promise<void> {
    assertObjectName(name);
    throwIfAborted(options.signal);
    try {
      await unlink(this.#fileOf(name)).catch(async (error: unknown) => {
        if (!isMissing(error)) throw error;
        await this.#assertThere();
      });
      // Also when it was gone already: an earlier delete may have failed between its unlink and its sync.
      await this.#folders.syncIfThere(locate(name).folders.at(-1) ?? "");
    } catch (error) {
      throw fileError(error, `delete ${name}`);
    }
  }

  /** Where the whole store is away, nothing is known about any object: its disk may not be mounted. */
  async #assertThere(): Promise<void> {
    try {
      await lstat(path.join(this.#root, layoutFile));
    } catch (error) {
      if (!isMissing(error)) throw fileError(error, "look for the store");
      throw new ObjectStoreError("unavailable", `${this.#root} is not there: is its disk mounted?`);
    }
  }

  #fileOf(name: string): string {
    return path.join(this.#root, locate(name).file);
  }

  /** Writes the body to a synced temporary file and returns its path; whatever goes wrong, the file is removed. */
  async #spool(body: ObjectBody, options: PutOptions): Promise<string> {
    const { handle, file } = await this.#createTemporary();
    let complete = false;
    try {
      for await (const chunk of readBody(body, options)) await writeAll(handle, chunk);
      // A failed sync is never repeated on the same file: the kernel drops the dirty pages and the second one
      // "succeeds". The put fails, and a repeated put writes a new file.
      if (this.#syncFiles) await handle.sync();
      // Network file systems report a full disk only here.
      await handle.close();
      complete = true;
      return file;
    } finally {
      if (!complete) {
        await handle.close().catch(() => undefined);
        await discard(file);
      }
    }
  }

  async #createTemporary(): Promise<{ handle: FileHandle; file: string }> {
    for (;;) {
      const file = temporaryPath(this.#root, this.#randomBytes);
      try {
        return { handle: await open(file, "wx", fileMode), file };
      } catch (error) {
        // A seeded random source may repeat a name; the next one is different.
        if (systemCode(error) !== "EEXIST") throw error;
      }
    }
  }

  async #publish(temporary: string, name: string, ifAbsent: boolean): Promise<void> {
    const { folders, file } = locate(name);
    try {
      await this.#folders.ensure(folders);
      await this.#moveIntoPlace(temporary, file, ifAbsent);
    } catch (error) {
      if (systemCode(error) === "EEXIST" && ifAbsent) throw await this.#taken(name);
      if (!isMissing(error)) throw error;
      // The folder was removed by hand since it was made. Try once more; then it is an error.
      this.#folders.forget(folders);
      await this.#folders.ensure(folders);
      await this.#moveIntoPlace(temporary, file, ifAbsent);
    }
    await this.#folders.sync(folders.at(-1) ?? "");
  }

  async #moveIntoPlace(temporary: string, file: string, ifAbsent: boolean): Promise<void> {
    const target = path.join(this.#root, file);
    await (ifAbsent ? link(temporary, target) : rename(temporary, target));
  }

  /** Throws `exists` after a sync of the folder: the writer of the object may have been stopped before its own sync. */
  async #taken(name: string): Promise<ObjectStoreError> {
    await this.#folders.syncIfThere(locate(name).folders.at(-1) ?? "");
    return new ObjectStoreError("exists", name);
  }
}

async function readExactly(
  handle: FileHandle,
  offset: number,
  length: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  // Not from Node's shared pool: the bytes belong to the caller.
  const bytes = Buffer.allocUnsafeSlow(length);
  let filled = 0;
  while (filled < length) {
    throwIfAborted(signal);
    const step = Math.min(readStepBytes, length - filled);
    const { bytesRead } = await handle.read(bytes, filled, step, offset + filled);
    if (bytesRead === 0) throw new ObjectStoreError("corrupt", "the file ended early: it was cut while it was read");
    filled += bytesRead;
  }
  return bytes;
}

/** Removes a temporary file, which `rename` may have taken already. If even this fails, a later open removes it. */
async function discard(file: string): Promise<void> {
  await unlink(file).catch(() => undefined);
}
