/** The folder that a restore writes to: a new one (`target-folder.ts`), or one that has files already (`existing-folder.ts`). */

import type { FileEntry } from "../../format/tree-entry.ts";

/**
 * What is to be done for a file. `complete`: an interrupted attempt wrote it. `keep`: the file that is there stays. `write`: nothing is at
 * its path. Otherwise it is written to `draft`, which then takes the place of `replaces`.
 */
export type FileStep = "complete" | "keep" | "write" | { readonly replaces: Buffer; readonly draft: Buffer };

export interface RestoreFolder {
  /** Everything in it is of this restore. */
  readonly isNew: boolean;
  /** Decides for a file, and removes what is in its way. Throws what a person should know. */
  prepareFile(path: Uint8Array, entry: FileEntry, mode: number): FileStep;
  /** Whether the link is there, or something that stays. Changes nothing. */
  keepsLink(path: Buffer, target: Uint8Array): boolean;
  /** The same. If not, whatever is at its path is removed. */
  keepOrRemoveLink(path: Buffer, target: Uint8Array): boolean;
  /** Makes a directory. Returns whether it gets the mode and time of the snapshot's. A link is not taken for a directory. */
  makeDirectory(path: Buffer): boolean;
  /** Whether a directory is where the snapshot has none, or something else where it has one. */
  isInTheWay(path: Buffer, wantsDirectory: boolean): boolean;
  /** Whether there may be entries that the snapshot does not have. */
  mayHaveOthers(directory: Buffer): boolean;
  /** Removes an entry that the snapshot does not have. */
  remove(path: Buffer): void;
  close(): void;
}

const nanosPerSecond = 1_000_000_000n;

/** How much later a time is than that of an entry. */
export function differenceNs(mtimeNs: bigint, entry: Pick<FileEntry, "mtimeSeconds" | "mtimeNanos">): bigint {
  return mtimeNs - (BigInt(entry.mtimeSeconds) * nanosPerSecond + BigInt(entry.mtimeNanos));
}
