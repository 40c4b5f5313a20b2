/** What a walk leaves out. Entries that are left out are not in the snapshot, and nothing is reported about them. */

import { closeSync, constants, openSync, readSync } from "node:fs";

export interface WalkFilter {
  /** Whether an entry is taken; `path` is its path in the snapshot. Nothing below a directory that is not taken is asked for. */
  readonly keeps?: ((path: string, isDirectory: boolean) => boolean) | undefined;
  /** Of a directory with a cache tag, only the tag is taken (https://bford.info/cachedir/). */
  readonly excludesCaches?: boolean | undefined;
  /** Directories of other file systems are taken without their content. */
  readonly oneFileSystem?: boolean | undefined;
}

/** The name of the file that marks a cache directory, and what it begins with. */
export const cacheTagName = "CACHEDIR.TAG";
const cacheTagSignature = Buffer.from("Signature: 8a477f597d28d172789f06886806bc55");

/** Whether the directory holds a valid cache tag. */
export function isCacheDirectory(directory: Uint8Array): boolean {
  const start = Buffer.alloc(cacheTagSignature.length);
  try {
    const file = Buffer.concat([directory, Buffer.from(`/${cacheTagName}`)]);
    const fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      return readSync(fd, start, 0, start.length, 0) === start.length && start.equals(cacheTagSignature);
    } finally {
      closeSync(fd);
    }
  } catch {
    // Without a readable tag the directory is an ordinary one.
    return false;
  }
}
