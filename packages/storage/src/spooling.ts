/**
 * Lets a retrying store take bodies that can be read only once. Such a body is written to a temporary file first, so a
 * failed attempt can be repeated, and its size is known before the first byte is sent. A body that can be opened again is
 * passed on as it is.
 *
 * The file loses its name right after it was created. A process that is killed in between leaves an empty file, which the
 * next one removes when it opens. (On Windows the name stays until the put ends.)
 */

import { constants } from "node:fs";
import { type FileHandle, open, readdir, unlink } from "node:fs/promises";
import path from "node:path";
import {
  assertObjectName,
  type CallOptions,
  type GetOptions,
  type ListOptions,
  type ObjectBody,
  type ObjectEntry,
  type ObjectStat,
  type ObjectStore,
  type PutOptions,
} from "@emanet/engine/object-store";
import { isReplayable, readBody } from "./body.ts";
import { fileError } from "./file-errors.ts";
import { writeAll } from "./file-write.ts";

export interface SpoolOptions {
  /** Folder for temporary files, with space for all packs that are sent at once. */
  readonly folder: string;
  readonly randomBytes: (count: number) => Uint8Array;
}

/** Read back in pieces of this size; one piece per put is in memory. */
const pieceBytes = 1024 * 1024;

const filePrefix = "emanet-spool-";

/**
 * Removes the files that killed processes left. Those of running processes may go too: they are read by their handles. What
 * cannot be removed belongs to another user.
 */
export async function removeSpoolFiles(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names)
    if (name.startsWith(filePrefix)) await unlink(path.join(folder, name)).catch(() => undefined);
}

/** An object store over another one, to which every body can be sent again. */
export class SpoolingStore implements ObjectStore {
  readonly #inner: ObjectStore;
  readonly #options: SpoolOptions;

  constructor(inner: ObjectStore, options: SpoolOptions) {
    this.#inner = inner;
    this.#options = options;
  }

  async put(name: string, body: ObjectBody, options: PutOptions = {}): Promise<void> {
    if (isReplayable(body)) return this.#inner.put(name, body, options);
    assertObjectName(name);
    const { handle, file } = await this.#createFile(name);
    try {
      const size = await spool(handle, body, options).catch((error: unknown) => {
        throw fileError(error, `spool ${name}`);
      });
      await this.#inner.put(name, () => piecesOf(handle, size), { ...options, size });
    } finally {
      // The bytes are not needed any more, so a failure does not matter.
      await handle.close().catch(() => undefined);
      await unlink(file).catch(() => undefined);
    }
  }

  async get(name: string, options?: GetOptions): Promise<Uint8Array> {
    return this.#inner.get(name, options);
  }

  async stat(name: string, options?: CallOptions): Promise<ObjectStat | null> {
    return this.#inner.stat(name, options);
  }

  list(prefix: string, options?: ListOptions): AsyncIterable<ObjectEntry> {
    return this.#inner.list(prefix, options);
  }

  async delete(name: string, options?: CallOptions): Promise<void> {
    return this.#inner.delete(name, options);
  }

  async #createFile(name: string): Promise<{ handle: FileHandle; file: string }> {
    const { folder, randomBytes } = this.#options;
    const file = path.join(folder, `${filePrefix}${Buffer.from(randomBytes(16)).toString("hex")}`);
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL;
    try {
      const handle = await open(file, flags, 0o600);
      await unlink(file).catch(() => undefined);
      return { handle, file };
    } catch (error) {
      throw fileError(error, `spool ${name}`);
    }
  }
}

async function spool(handle: FileHandle, body: ObjectBody, options: PutOptions): Promise<number> {
  let size = 0;
  for await (const chunk of readBody(body, options)) {
    await writeAll(handle, chunk);
    size += chunk.byteLength;
  }
  return size;
}

async function* piecesOf(handle: FileHandle, size: number): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(pieceBytes, size));
  for (let at = 0; at < size; ) {
    const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, size - at), at);
    if (bytesRead === 0) throw new Error("the spooled body ended early");
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
