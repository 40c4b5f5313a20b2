/** Where a backup goes: the service or a local repository. */

import type { FileCache, UploadSettings, UploadTarget, Writer, WriterKeys } from "@emanet/engine/backup";

/** A snapshot that was begun. */
export interface BegunSnapshot {
  readonly keys: WriterKeys;
  readonly signer: Writer;
  readonly target: UploadTarget;
  /** How packs are made and registered, for this target. */
  readonly settings: Partial<UploadSettings>;
  readonly owner: string;
  /** The source as the manifest names it. */
  readonly sourceName: string;
  /** 32 hexadecimal digits; drawn by the engine if absent. */
  readonly snapshotId?: string;
  readonly cache?: FileCache;
  /** Why the cache could not be opened: the disk is full, or the agent may not write to the folder. */
  readonly cacheError?: Error;
  /** Told the number of files done, while the backup runs. */
  readonly onFiles?: (files: number) => void;
}

export interface SnapshotWishes {
  readonly source: string;
  readonly label: string | null;
  readonly vaultId: string | null;
  readonly taxpayerId: string | null;
  readonly trigger: Trigger;
  readonly reference: string | null;
}

export const triggers = ["manual", "schedule", "api", "e_archive"] as const;
export type Trigger = (typeof triggers)[number];

export interface Destination {
  /** Of locks, and of what is remembered of sources. */
  readonly folder: string;
  /** Called before a thread is started: limits the memory of the run. */
  readonly limitMemory: () => void;
  /** Makes a snapshot. `again`: the keys that were used are old. */
  begin(wishes: SnapshotWishes, again: boolean): Promise<BegunSnapshot>;
  /** After a completed backup; returns how many damaged frames were healed. */
  finish(): Promise<number>;
  /** The snapshot's id as people see it. */
  shownId(engineId: string): string;
  close(): Promise<void>;
}
