/**
 * A job of uploads: checks parts of a file against their sizes and CRC-32s, and writes those that are deflated to another
 * file. The parts are the files of a zip archive, which is hostile input: a part never gives more bytes than its size.
 */

import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";
import { crc32, inflateRawSync } from "node:zlib";

export interface FilePart {
  readonly offset: number;
  /** Bytes in the file. */
  readonly length: number;
  /** Bytes of the content. */
  readonly size: number;
  readonly crc: number;
  /** Where the inflated content goes in the other file. Null: the content is not deflated, and stays where it is. */
  readonly to: number | null;
}

export interface InflatePartsJob {
  readonly job: number;
  readonly from: string;
  /** Null: no part is deflated. */
  readonly to: string | null;
  readonly parts: readonly FilePart[];
}

/** `size`: more or fewer bytes than it should have. `compression`: it cannot be inflated, or has bytes after its end. */
export type PartFault = "size" | "crc" | "compression";

export interface InflatePartsResult {
  readonly job: number;
  /** The first part that is not what it should be. */
  readonly fault: { readonly part: number; readonly kind: PartFault } | null;
  /** Why a file could not be read or written: the code of the system's error. */
  readonly error: string | null;
}

/** Runs one job. A failure is in the result. */
export function inflateParts({ job, from, to, parts }: InflatePartsJob): InflatePartsResult {
  const files: number[] = [];
  try {
    const input = openSync(from, constants.O_RDONLY | constants.O_NOFOLLOW);
    files.push(input);
    const output = to === null ? null : openSync(to, constants.O_WRONLY | constants.O_NOFOLLOW);
    if (output !== null) files.push(output);
    for (const [index, part] of parts.entries()) {
      const kind = inflatePart(part, input, output);
      if (kind !== null) return { job, fault: { part: index, kind }, error: null };
    }
    return { job, fault: null, error: null };
  } catch (error) {
    return { job, fault: null, error: (error as NodeJS.ErrnoException).code ?? String(error) };
  } finally {
    for (const file of files) closeSync(file);
  }
}

function inflatePart(part: FilePart, input: number, output: number | null): PartFault | null {
  const stored = readPart(input, part);
  const content = part.to === null ? stored : inflated(stored, part.size);
  if (typeof content === "string") return content;
  if (content.length !== part.size) return "size";
  if (crc32(content) !== part.crc) return "crc";
  if (part.to !== null && output !== null) writeAll(output, content, part.to);
  return null;
}

function readPart(input: number, { offset, length }: FilePart): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  for (let done = 0; done < length; ) {
    const count = readSync(input, bytes, done, length - done, offset + done);
    if (count === 0) throw new Error("a file is shorter than its parts");
    done += count;
  }
  return bytes;
}

function inflated(stored: Buffer, size: number): Buffer | PartFault {
  try {
    const options = { maxOutputLength: Math.max(1, size), info: true } as const;
    // With `info`, which the types do not know, it also says how many bytes were used.
    const { buffer, engine } = inflateRawSync(stored, options) as unknown as Inflated;
    return engine.bytesWritten === stored.length ? buffer : "compression";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE" ? "size" : "compression";
  }
}

interface Inflated {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}

/** A nearly full disk takes a part of a write without an error, and fails only the next one. */
function writeAll(output: number, content: Buffer, position: number): void {
  for (let done = 0; done < content.length; )
    done += writeSync(output, content, done, content.length - done, position + done);
}
