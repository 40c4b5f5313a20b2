/** A backup program in the race: commands on a local repository. Commands are measured, preparations are not. */

import type { Command, FolderSize } from "./measure.ts";

export type SystemName = "emanet" | "restic" | "kopia" | "rustic";

export interface System {
  readonly name: SystemName;
  readonly version: string;
  /** Settings that differ from the defaults of the program, for the report. */
  readonly settings: string;
  /** A repository in a missing folder, ready for the first backup. */
  create(folder: string): Promise<Repository>;
}

export interface Repository {
  /** Backs up a folder. Later calls name the same folder. */
  backup(folder: string): Command;
  /** Called after each backup, outside the measurement: records which snapshot it was. */
  backedUp(folder: string, output: string): Promise<void>;
  /** Restores the newest snapshot into an empty folder that exists. */
  restore(folder: string, target: string): Command;
  /** Gets one file of the newest snapshot into `target`, a folder that exists. */
  restoreFile(folder: string, file: string, target: string): Command;
  /** Maintenance commands, in order; every snapshot is kept. */
  upkeep(): readonly Command[];
  /** Reads and verifies all data. */
  verify(): Command;
  /** Everything that is needed to restore, and the cache that makes the next backup fast. */
  stored(): FolderSize;
  /** Bytes of blocks that the newest backup found new, before compression; null if the program does not report it. */
  newBytes(): Promise<number | null>;
}
