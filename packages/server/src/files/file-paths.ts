/** Paths of files as clients give them, and as they are kept. */

import { createHash } from "node:crypto";
import { filePath, InvalidArchiveError } from "../archives/index.ts";
import { invalidField } from "../kernel/http/validate.ts";
import { type Language, Problem } from "../kernel/problems.ts";

const slash = 0x2f;
const nul = 0;

/** A path, with what it is found and sorted by. */
export interface FilePath {
  /** The path with NUL in place of `/`. NUL is in no name, so the order of keys is the order of a walk. */
  readonly key: Buffer;
  readonly hash: Buffer;
}

/** Throws `validation_failed` for what is no path of a file. */
export function requirePath(bytes: Buffer, language: Language): FilePath {
  try {
    return pathOf(keyOf(filePath(bytes)));
  } catch (error) {
    if (!(error instanceof InvalidArchiveError)) throw error;
    throw new Problem("validation_failed", { errors: [invalidField("/path", "wrong_format", language)] });
  }
}

/** The directories above a path, the highest first, without the root. */
export function directoriesAbove({ key }: FilePath): readonly FilePath[] {
  const above: FilePath[] = [];
  for (let end = key.indexOf(nul); end >= 0; end = key.indexOf(nul, end + 1)) above.push(pathOf(key.subarray(0, end)));
  return above;
}

/** The path of a key. */
export function bytesOfKey(key: Buffer): Buffer {
  return replaced(key, nul, slash);
}

/** A path as it is in a URL: every byte that is not plain is percent-encoded. */
export function encodedPath(path: Buffer): string {
  return path.toString("latin1").replaceAll(/[^A-Za-z0-9._~/-]/g, (char) => {
    return `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
  });
}

function pathOf(key: Buffer): FilePath {
  return { key, hash: createHash("sha256").update(key).digest() };
}

function keyOf(path: Buffer): Buffer {
  return replaced(path, slash, nul);
}

function replaced(bytes: Buffer, from: number, to: number): Buffer {
  const copy = Buffer.from(bytes);
  for (let at = copy.indexOf(from); at >= 0; at = copy.indexOf(from, at + 1)) copy[at] = to;
  return copy;
}
