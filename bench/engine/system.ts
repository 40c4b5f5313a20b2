/** What a backup program is to the race: commands over a local repository. Commands are measured; preparations are not. */

import type { Command, FolderSize } from "./measure.ts";

export type SystemName = "emanet" | "restic" | "kopia" | "rustic";

export interface System {
  readonly name: SystemName;
  readonly version: string;
  /** Settings that differ from the program's own, for the report. */
  readonly settings: string;
  /** A repository in a missing folder, ready for the first backup. */
  create(folder: string): Promise<Repository>;
}

export interface Repository {
  /** Backs up a folder. Later calls name the same folder. */
  backup(folder: string): Command;
  /** Called after each backup, outside the measurement: remembers which snapshot it was. */
  backedUp(folder: string, output: string): Promise<void>;
  /** Restores the newest snapshot into an empty folder that exists. */
  restore(folder: string, target: string): Command;
  /** Gets one file of the newest snapshot into `target`, a folder that exists. */
  restoreFile(folder: string, file: string, target: string): Command;
  /** What keeps the repository small and fast, in order; every snapshot is kept. */
  upkeep(): readonly Command[];
  /** Reads and proves all data. */
  verify(): Command;
  /** Everything that is needed to restore, and what must be kept beside it for the next backup to be fast. */
  stored(): FolderSize;
  /** Bytes of blocks that the newest backup found new, before compression; null where a program does not say. */
  newBytes(): Promise<number | null>;
}
