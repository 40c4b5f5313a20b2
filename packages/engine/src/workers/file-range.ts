/** Reads ranges of files for a cut worker, and notices files that change meanwhile. */

import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { asBuffer, sameBytes } from "../format/bytes.ts";
import type { FileStat } from "../source/source.ts";
import { fileStatOf, readFlags, sameFileStat } from "../source/source.ts";
import type { FileOutcome, FileRange } from "./cut-messages.ts";

/** Reads a whole file of a bundle. */
export function readWhole(
  file: FileRange,
  opened: LastFile,
  into: Uint8Array,
  at: number,
): Omit<FileOutcome, "blocks"> {
  try {
    const reader = rangeOf(file, opened.open(file.path));
    let bytes = 0;
    while (!reader.ended) bytes += reader.read(into, at + bytes);
    const { changed } = reader.finish();
    return { bytes, error: null, changed };
  } catch (error) {
    return { bytes: 0, error: codeOf(error), changed: false };
  }
}

/** The file that was opened last. The files of an archive are ranges of one file, which is opened once for a bundle. */
export class LastFile {
  #last: { readonly path: Uint8Array; readonly file: OpenFile } | null = null;

  open(path: Uint8Array): OpenFile {
    if (this.#last !== null && sameBytes(this.#last.path, path)) return this.#last.file;
    this.close();
    const file = openFile(path);
    this.#last = { path, file };
    return file;
  }

  close(): void {
    if (this.#last !== null) closeSync(this.#last.file.fd);
    this.#last = null;
  }
}

interface OpenFile {
  readonly fd: number;
  readonly stat: FileStat;
}

export interface RangeFile {
  readonly bytesRead: number;
  /** Whether the whole range was read, or the file ended before. */
  readonly ended: boolean;
  read(into: Uint8Array, at: number): number;
  finish(): FileOutcome;
  close(): void;
}

/** Opens a range of a file. It ends where it was planned to end, even if the file grows meanwhile. */
export function openRange(file: FileRange): RangeFile {
  return rangeOf(file, openFile(file.path));
}

function rangeOf(file: FileRange, { fd, stat }: OpenFile): RangeFile {
  const statAtWalk = file.statAtWalk ?? stat;
  const replaced = !sameFileStat(statAtWalk, stat);
  let done = 0;
  let short = false;
  return {
    get bytesRead() {
      return done;
    },
    get ended() {
      return short || done >= file.length;
    },
    read(into, at) {
      const start = done;
      let wanted = Math.min(into.length - at, file.length - done);
      while (wanted > 0) {
        const count = readSync(fd, into, at + done - start, wanted, file.offset + done);
        if (count === 0) {
          short = true;
          break;
        }
        done += count;
        wanted -= count;
      }
      return done - start;
    },
    finish: () => ({
      blocks: 0,
      bytes: done,
      error: null,
      changed: replaced || short || !sameFileStat(statAtWalk, fileStatOf(fstatSync(fd, { bigint: true }))),
    }),
    close: () => closeSync(fd),
  };
}

function openFile(path: Uint8Array): OpenFile {
  const fd = openSync(asBuffer(path), readFlags);
  try {
    const stats = fstatSync(fd, { bigint: true });
    if (!stats.isFile()) throw new Error("special_file");
    return { fd, stat: fileStatOf(stats) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** The code of a system error, or its message. */
export function codeOf(error: unknown): string {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return error instanceof Error ? error.message : String(error);
}
