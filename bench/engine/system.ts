/** A backup program in the race: commands on a repository, local or behind a server. Commands are measured, preparations are not. */

import type { Command, FolderSize } from "./measure.ts";

export type SystemName = "emanet" | "restic" | "kopia" | "rustic";

export interface System {
  readonly name: SystemName;
  readonly version: string;
  /** Settings that differ from the defaults of the program, for the report. */
  readonly settings: string;
  /** A repository in a missing folder, ready for the first backup. `delayMs`: the time of a round trip to its server. */
  create(folder: string, delayMs: number): Promise<Repository>;
}

/** What the server of a repository used for a command. */
export interface ServerUse {
  readonly cpuSeconds: number;
  /** The part of the database; 0 without one. */
  readonly databaseCpuSeconds: number;
  readonly peakBytes: number;
  /** Bytes between the program and its server, as encrypted: to the server, and from it. */
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

/** The server of a repository, which runs all the time and is measured with each command. */
export interface ServerSide {
  /** Counts from now on. */
  begin(): Promise<void>;
  /** What was used since `begin`. */
  used(): Promise<ServerUse>;
  /** Waits until nothing is done in the background. Returns the CPU seconds that this took. */
  untilIdle(): Promise<number>;
}

export interface Repository {
  /** Backs up a folder. Later calls name the same folder. */
  backup(folder: string): Command;
  /** Called after each backup, outside the measurement: records which snapshot it was. */
  backedUp(folder: string, output: string): Promise<void>;
  /** Called before each full restore, outside the measurement: removes local copies of contents, which a lost machine has not. */
  forgetContents?(): Promise<void>;
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
  /** The folder of the stored objects where it is not the repository's. */
  readonly content?: string;
  /** Where the repository is behind a server. */
  readonly server?: ServerSide;
  /** Ends its server, if it has one of its own. */
  close?(): Promise<void>;
}
