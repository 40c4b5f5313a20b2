/**
 * Checks the content of zip entries, and inflates what is deflated into the second spool file. Small files are collected to batches
 * for the worker threads: a call and a stream for each of them would take three times as long. Large ones are inflated as streams,
 * which zlib does in threads of its own. One batch is being worked on while the next one is collected.
 */

import { crc32 } from "node:zlib";
import { decompress } from "./decompress.ts";
import type { ContentFile } from "./entry-table.ts";
import { type InvalidArchiveCode, InvalidArchiveError } from "./invalid-archive.ts";
import { type SpoolFile, spoolError } from "./spool.ts";
import { named } from "./zip-directory.ts";
import { methods } from "./zip-format.ts";
import type { ZipMemberRow } from "./zip-members.ts";

/** A file of more bytes, in the archive or inflated, is a stream. */
const maxSmallBytes = 512 * 1024;

/** A batch: some milliseconds of work, which may run in the thread of the requests. */
const batchBytes = 1024 * 1024;
const batchParts = 256;

interface Part {
  readonly offset: number;
  readonly length: number;
  readonly size: number;
  readonly crc: number;
  readonly to: number | null;
}

/** The worker threads, as the engine's pool has them. */
export interface Inflater {
  startThreadsFor(bytes: number): void;
  inflate(job: { readonly from: string; readonly to: string; readonly parts: readonly Part[] }): Promise<{
    readonly fault: { readonly part: number; readonly kind: "size" | "crc" | "compression" } | null;
    readonly error: string | null;
  }>;
}

const faultCodes: Readonly<Record<"size" | "crc" | "compression", InvalidArchiveCode>> = {
  size: "size_mismatch",
  crc: "checksum_mismatch",
  compression: "damaged_compression",
};

interface Terms {
  readonly archive: SpoolFile;
  readonly expanded: SpoolFile;
  readonly inflater: Inflater;
  readonly signal: AbortSignal;
  readonly onProgress: () => void;
}

interface Batch {
  readonly parts: Part[];
  readonly members: ZipMemberRow[];
  bytes: number;
}

function emptyBatch(): Batch {
  return { parts: [], members: [], bytes: 0 };
}

export class ZipParts {
  readonly #terms: Terms;
  #batch = emptyBatch();
  /** The batch that is being worked on. */
  #running: Promise<void> = Promise.resolve();
  /** Where the next inflated file begins. */
  #expandedBytes = 0;

  constructor(terms: Terms) {
    this.#terms = terms;
  }

  /** Checks the content of an entry, soon. Returns where it will be. */
  async add(member: ZipMemberRow, content: number): Promise<{ readonly file: ContentFile; readonly offset: number }> {
    const { size, length, crc } = member;
    const isStored = member.method === methods.stored;
    const to = isStored ? null : this.#expandedBytes;
    if (!isStored) this.#expandedBytes += size;
    const part = { offset: content, length, size, crc, to };
    if (Math.max(length, size) > maxSmallBytes) await this.#stream(part, member);
    else await this.#collect(part, member);
    return to === null ? { file: "archive", offset: content } : { file: "expanded", offset: to };
  }

  /** The last batch is done too. */
  async end(): Promise<void> {
    await this.#start();
    await this.#running;
  }

  /** Nothing is being worked on any more, well or not. */
  async settle(): Promise<void> {
    await this.#running.catch(() => undefined);
  }

  async #collect(part: Part, member: ZipMemberRow): Promise<void> {
    const { parts, members } = this.#batch;
    parts.push(part);
    members.push(member);
    this.#batch.bytes += part.length + part.size;
    if (this.#batch.bytes >= batchBytes || parts.length >= batchParts) await this.#start();
  }

  /** Gives the batch to a worker, when the one before is done. */
  async #start(): Promise<void> {
    const batch = this.#batch;
    this.#batch = emptyBatch();
    await this.#running;
    this.#terms.signal.throwIfAborted();
    this.#terms.onProgress();
    this.#running = batch.parts.length === 0 ? Promise.resolve() : this.#inflate(batch);
    // It is awaited later. Without this handler, Node would report an unhandled rejection until then.
    this.#running.catch(() => undefined);
  }

  async #inflate({ parts, members }: Batch): Promise<void> {
    const { archive, expanded, inflater } = this.#terms;
    const { fault, error } = await inflater.inflate({ from: archive.path, to: expanded.path, parts });
    if (error !== null) throw spoolError(Object.assign(new Error("a worker could not inflate"), { code: error }));
    const member = fault === null ? undefined : members[fault.part];
    if (fault !== null && member !== undefined) throw refused(faultCodes[fault.kind], member);
  }

  async #stream({ offset, length, size, to }: Part, member: ZipMemberRow): Promise<void> {
    const { archive, expanded, signal, onProgress } = this.#terms;
    const stored = archive.chunks(offset, offset + length);
    let [done, crc] = [0, 0];
    try {
      for await (const chunk of to === null ? stored : decompress(stored, "deflate-raw")) {
        signal.throwIfAborted();
        onProgress();
        if (done + chunk.length > size) throw refused("size_mismatch", member);
        crc = crc32(chunk, crc);
        if (to !== null) await expanded.writeAt(chunk, to + done);
        done += chunk.length;
      }
    } catch (error) {
      if (error instanceof InvalidArchiveError && error.code === "damaged_compression")
        throw refused("damaged_compression", member);
      throw error;
    }
    if (done !== size) throw refused("size_mismatch", member);
    if (crc !== member.crc) throw refused("checksum_mismatch", member);
  }
}

function refused(code: InvalidArchiveCode, { path, index }: ZipMemberRow): unknown {
  return named(new InvalidArchiveError(code, path), index);
}
