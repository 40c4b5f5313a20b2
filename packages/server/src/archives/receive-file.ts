/** Receives one file: writes it to the spool as it comes, and offers it as a walk of a backup with this file alone. */

import { createHash } from "node:crypto";
import { snapshotPath } from "./archive-path.ts";
import { InvalidArchiveError } from "./invalid-archive.ts";
import { type ArchiveEvent, ArchiveTooLargeError, type ReceivedArchive } from "./received-archive.ts";
import type { Spool, SpoolFile } from "./spool.ts";

export interface ReceiveFileOptions {
  readonly spool: Spool;
  /** Whose share of the spool is used. */
  readonly owner: string;
  /** Its path in the snapshot. */
  readonly path: Uint8Array;
  readonly mode: number;
  /** Milliseconds since 1970. */
  readonly mtimeMs: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

export interface ReceivedFile extends ReceivedArchive {
  readonly sha256: Uint8Array;
}

/** Directories above the file are not named by the client (contract). */
const directoryMode = 0o755;

const slash = 0x2f;
const noChangeStat = { inode: 0n, ctimeNs: 0n };

/** The path of one file as a client gives it. Refuses what {@link snapshotPath} would change: the client gave a name. */
export function filePath(path: Buffer): Buffer {
  if (path.length === 0) throw new InvalidArchiveError("empty_path");
  if (!snapshotPath(path).equals(path)) throw new InvalidArchiveError("unsafe_path", path);
  return path;
}

/** Resolves when the whole file is there; else nothing of it is left. */
export async function receiveFile(input: AsyncIterable<Buffer>, options: ReceiveFileOptions): Promise<ReceivedFile> {
  const path = filePath(Buffer.from(options.path));
  const { spool, owner, maxBytes, signal } = options;
  const file = await spool.create(owner, "file");
  try {
    const hash = createHash("sha256");
    for await (const chunk of input) {
      signal.throwIfAborted();
      hash.update(chunk);
      if (file.size + chunk.length > maxBytes) throw new ArchiveTooLargeError();
      await file.append(chunk);
    }
    signal.throwIfAborted();
    await file.flush();
    const sha256 = hash.digest();
    const remove = () => file.remove();
    return { sizeBytes: file.size, sha256, walk: () => walk(file, path, sha256, options), remove };
  } catch (error) {
    await file.remove();
    throw error;
  }
}

async function* walk(
  file: SpoolFile,
  path: Buffer,
  sha256: Uint8Array,
  { mode, mtimeMs }: ReceiveFileOptions,
): AsyncGenerator<ArchiveEvent> {
  const mtimeSeconds = Math.floor(mtimeMs / 1000);
  const mtimeNanos = (mtimeMs - mtimeSeconds * 1000) * 1_000_000;
  const stat = { uid: 0, gid: 0, mtimeSeconds, mtimeNanos, attributes: [] } as const;
  const ends = [...directoryEnds(path)];
  for (const end of ends) {
    const directory = path.subarray(0, end);
    yield { type: "enter", path: directory, stat: { ...stat, name: nameOf(directory), mode: directoryMode } };
  }
  yield {
    ...{ type: "file", path, size: file.size, changeStat: noChangeStat, sha256 },
    stat: { ...stat, name: nameOf(path), mode },
    content: { path: Buffer.from(file.path), offset: 0 },
  };
  for (const _ of ends) yield { type: "leave" };
}

/** Where the path of each directory above ends; 0 for the root. */
function* directoryEnds(path: Buffer): Generator<number> {
  yield 0;
  for (let end = path.indexOf(slash); end >= 0; end = path.indexOf(slash, end + 1)) yield end;
}

function nameOf(path: Buffer): Buffer {
  return path.subarray(path.lastIndexOf(slash) + 1);
}
