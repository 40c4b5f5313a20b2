/**
 * Paths of an archive as paths of a snapshot: separated by `/`, never absolute, without empty parts, `.` and `..`.
 * Names are bytes and stay as they are.
 */

import { InvalidArchiveError } from "./invalid-archive.ts";

/** The contract's limit of a path. */
export const maxPathBytes = 4096;

/** The contract's limit of the paths of a snapshot. */
export const maxEntries = 20_000_000;

const slash = 0x2f;
const dot = 0x2e;

/** The path of a snapshot for a path of an archive. Empty for the root of the archive (`./`). */
export function snapshotPath(path: Buffer): Buffer {
  if (path.includes(0)) throw new InvalidArchiveError("unsafe_path", path);
  if (isPlain(path)) return checkedLength(path);
  const parts: Buffer[] = [];
  for (const part of partsOf(path)) {
    if (part.length === 0 || (part.length === 1 && part[0] === dot)) continue;
    if (part.length === 2 && part[0] === dot && part[1] === dot) throw new InvalidArchiveError("unsafe_path", path);
    if (parts.length > 0) parts.push(separator);
    parts.push(part);
  }
  return checkedLength(Buffer.concat(parts));
}

const separator = Buffer.of(slash);

/** Whether no part is empty or begins with a dot, which is so for almost every path. */
function isPlain(path: Buffer): boolean {
  let isPartStart = true;
  for (let at = 0; at < path.length; at++) {
    const byte = path[at];
    if (isPartStart && (byte === slash || byte === dot)) return false;
    isPartStart = byte === slash;
  }
  return !isPartStart;
}

function* partsOf(path: Buffer): Generator<Buffer> {
  let start = 0;
  for (let end = path.indexOf(slash); end >= 0; end = path.indexOf(slash, start)) {
    yield path.subarray(start, end);
    start = end + 1;
  }
  yield path.subarray(start);
}

function checkedLength(path: Buffer): Buffer {
  if (path.length > maxPathBytes) throw new InvalidArchiveError("path_too_long", path.subarray(0, maxPathBytes));
  return path;
}
