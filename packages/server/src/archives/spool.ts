/**
 * Spool files: scratch copies of what clients send, so that content can be read in another order than it arrives.
 *
 * A *spool* is a folder of this process. It bounds the bytes of all files together and of each owner, so that one account
 * cannot take the space of the others. What is left of an earlier process is removed when the spool is opened. Worker
 * threads open the files by path.
 */

import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rm, unlink } from "node:fs/promises";
import path from "node:path";

/** Chunks of a socket have 16 KiB; collected to this size, writing takes half the CPU time. */
const writeBytes = 1024 * 1024;

/** What all files together collect. Above it each writes sooner, so that memory does not grow with the number of uploads. */
export const collectedBytesInAll = 8 * 1024 * 1024;

/** Even then so much is written at once: writing every chunk of a socket alone takes twice the CPU time. */
const leastWriteBytes = 128 * 1024;

const ownerOnlyFolder = 0o700;
const ownerOnlyFile = 0o600;

/** The disk, the spool or the owner's share of it is full. Nothing half-written is kept. */
export class SpoolFullError extends Error {
  readonly limit: "disk" | "spool" | "owner";

  constructor(limit: SpoolFullError["limit"], options?: ErrorOptions) {
    super(`the spool is full: ${limit}`, options);
    this.name = "SpoolFullError";
    this.limit = limit;
  }
}

export interface SpoolLimits {
  readonly totalBytes: number;
  readonly ownerBytes: number;
}

export class Spool {
  readonly #folder: string;
  readonly #limits: SpoolLimits;
  readonly #byOwner = new Map<string, number>();
  #total = 0;
  #collected = 0;
  #files = 0;

  private constructor(folder: string, limits: SpoolLimits) {
    this.#folder = folder;
    this.#limits = limits;
  }

  /** Opens the folder for this process alone, and empties it. */
  static async open(folder: string, limits: SpoolLimits): Promise<Spool> {
    await mkdir(folder, { recursive: true, mode: ownerOnlyFolder });
    for (const name of await readdir(folder)) await rm(path.join(folder, name), { recursive: true, force: true });
    return new Spool(folder, limits);
  }

  /** Removes the folder with everything in it. */
  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  get usedBytes(): number {
    return this.#total;
  }

  /** Bytes that were appended and are not on disk. */
  get collectedBytes(): number {
    return this.#collected;
  }

  /** Counts bytes that a file collects; less than zero: that it has written. */
  collect(bytes: number): void {
    this.#collected += bytes;
  }

  /** So much a file collects before it writes. */
  get bytesPerWrite(): number {
    return this.#collected >= collectedBytesInAll ? leastWriteBytes : writeBytes;
  }

  /** A path in the folder that no other file has. */
  newPath(kind: string): string {
    return path.join(this.#folder, `${this.#files++}.${kind}`);
  }

  async create(owner: string, kind: string): Promise<SpoolFile> {
    const file = this.newPath(kind);
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    return new SpoolFile(this, owner, file, await guarded(() => open(file, flags, ownerOnlyFile)));
  }

  /** The most that one owner may have in it. */
  get ownerBytes(): number {
    return this.#limits.ownerBytes;
  }

  /** Throws if so many bytes do not fit now. */
  check(owner: string, bytes: number): void {
    if ((this.#byOwner.get(owner) ?? 0) + bytes > this.#limits.ownerBytes) throw new SpoolFullError("owner");
    if (this.#total + bytes > this.#limits.totalBytes) throw new SpoolFullError("spool");
  }

  /** Counts bytes before they are written. */
  reserve(owner: string, bytes: number): void {
    this.check(owner, bytes);
    this.#byOwner.set(owner, (this.#byOwner.get(owner) ?? 0) + bytes);
    this.#total += bytes;
  }

  release(owner: string, bytes: number): void {
    const left = (this.#byOwner.get(owner) ?? 0) - bytes;
    if (left > 0) this.#byOwner.set(owner, left);
    else this.#byOwner.delete(owner);
    this.#total -= bytes;
  }
}

/** One file of a spool. It is removed by its creator, also after an error. */
export class SpoolFile {
  readonly path: string;
  readonly #spool: Spool;
  readonly #owner: string;
  readonly #handle: FileHandle;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #written = 0;
  #reserved = 0;
  #isClosed = false;

  constructor(spool: Spool, owner: string, file: string, handle: FileHandle) {
    this.#spool = spool;
    this.#owner = owner;
    this.path = file;
    this.#handle = handle;
  }

  /** Bytes that were appended. */
  get size(): number {
    return this.#written + this.#waitingBytes;
  }

  /** Appends a chunk. The chunk must not be changed afterwards. Resolves when more may come. */
  async append(chunk: Buffer): Promise<void> {
    this.#reserve(chunk.length);
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    this.#spool.collect(chunk.length);
    if (this.#waitingBytes >= this.#spool.bytesPerWrite) await this.flush();
  }

  /** Writes what is collected. Workers see everything that was appended before. */
  async flush(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    const start = this.#written;
    const bytes = this.#waitingBytes;
    this.#written += bytes;
    this.#waitingBytes = 0;
    try {
      await this.#write(waiting, start);
    } finally {
      this.#spool.collect(-bytes);
    }
  }

  /** Copies bytes of another spool file. What is left out between two copies stays a hole. */
  async copy(from: SpoolFile, fromOffset: number, toOffset: number, length: number): Promise<void> {
    this.#reserve(length);
    const buffer = Buffer.allocUnsafe(Math.min(length, writeBytes));
    for (let done = 0; done < length; ) {
      const bytes = await from.#read(buffer.subarray(0, Math.min(buffer.length, length - done)), fromOffset + done);
      await this.#write([bytes], toOffset + done);
      done += bytes.length;
    }
  }

  /**
   * What was flushed, or a part of it. Nothing is opened or read before the first chunk is asked for, so the file may be removed
   * when nobody ever asks.
   */
  async *chunks(start = 0, end?: number): AsyncGenerator<Buffer> {
    const stop = end ?? this.#written;
    for (let position = start; position < stop; ) {
      const length = Math.min(writeBytes, stop - position);
      const chunk = await this.#read(Buffer.allocUnsafe(length), position);
      position += chunk.length;
      yield chunk;
    }
  }

  /** So many bytes of what was flushed. */
  async read(position: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    for (let done = 0; done < length; ) done += (await this.#read(bytes.subarray(done), position + done)).length;
    return bytes;
  }

  /** Counts bytes that are written later: by a worker, or by {@link writeAt}. */
  allot(bytes: number): void {
    this.#reserve(bytes);
  }

  /** Writes bytes that were allotted. */
  async writeAt(chunk: Buffer, position: number): Promise<void> {
    await this.#write([chunk], position);
  }

  /** Makes the file this long, with a hole at its end. */
  async extend(size: number): Promise<void> {
    await guarded(() => this.#handle.truncate(size));
  }

  async remove(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#spool.collect(-this.#waitingBytes);
    this.#waitingBytes = 0;
    await this.#handle.close();
    await unlink(this.path);
    this.#spool.release(this.#owner, this.#reserved);
  }

  #reserve(bytes: number): void {
    this.#spool.reserve(this.#owner, bytes);
    this.#reserved += bytes;
  }

  async #read(buffer: Buffer, position: number): Promise<Buffer> {
    const { bytesRead } = await this.#handle.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) throw new Error("a spool file is shorter than what was written to it");
    return buffer.subarray(0, bytesRead);
  }

  /** A nearly full disk takes a part of a write without an error, and fails only the next one. */
  async #write(chunks: readonly Buffer[], start: number): Promise<void> {
    let position = start;
    let left: readonly Buffer[] = chunks.filter(({ length }) => length > 0);
    while (left.length > 0) {
      const { bytesWritten } = await guarded(() => this.#handle.writev(left as Buffer[], position));
      position += bytesWritten;
      left = without(left, bytesWritten);
    }
  }
}

/** A full disk is an error of its own. */
async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw spoolError(error);
  }
}

/** SQLite's number for a full disk, in the low byte of its codes. */
const sqliteFull = 13;

/** The error of a full disk where it is one, of a file or of a table in a file; every other error as it is. */
export function spoolError(error: unknown): unknown {
  const { code, errcode = 0 } = error as NodeJS.ErrnoException & { readonly errcode?: number };
  const isFull = code === "ENOSPC" || code === "EDQUOT" || (errcode & 0xff) === sqliteFull;
  return isFull ? new SpoolFullError("disk", { cause: error }) : error;
}

/** The chunks without their first bytes. */
function without(chunks: readonly Buffer[], bytes: number): readonly Buffer[] {
  let left = bytes;
  const rest: Buffer[] = [];
  for (const chunk of chunks) {
    if (left >= chunk.length) left -= chunk.length;
    else {
      rest.push(left === 0 ? chunk : chunk.subarray(left));
      left = 0;
    }
  }
  return rest;
}
