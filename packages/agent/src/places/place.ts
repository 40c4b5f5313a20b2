/**
 * Where snapshots are: the service, or a local repository. Commands that read work on both through this interface.
 */

import type { FrameReader, ReadPort, Reference } from "@emanet/engine/read";

export interface SnapshotInfo {
  readonly id: string;
  readonly source: string;
  /** Null in a local repository. */
  readonly vaultId: string | null;
  readonly createdAt: number;
  readonly completedAt: number | null;
  readonly status: string;
  readonly sizeBytes: number | null;
  readonly fileCount: number | null;
  readonly warningCount: number | null;
  /** What it added to storage; null where that is not told. */
  readonly storedBytes: number | null;
  readonly label: string | null;
  readonly rootHash: string | null;
}

export interface OpenSnapshot {
  readonly info: SnapshotInfo;
  readonly port: ReadPort;
  readonly reader: FrameReader;
  readonly root: Reference;
}

export interface WantedPaths {
  /** Inside the snapshot, separated by `/`. The root is an empty path. */
  readonly paths: readonly Uint8Array[];
  /** Also the content of files and everything below directories. */
  readonly withContent: boolean;
}

export interface SnapshotFilter {
  /** Only the newest one. */
  readonly newest?: boolean | undefined;
  readonly source?: string | undefined;
  /** Also those that are not completed. */
  readonly all?: boolean | undefined;
}

export interface Place {
  /** Newest first. */
  snapshots(filter: SnapshotFilter): AsyncIterable<SnapshotInfo>;
  /** A snapshot by its whole id; null if there is none. */
  get(id: string): Promise<SnapshotInfo | null>;
  /** `wanted`: what will be read of it, so that a service can send it at once. */
  open(info: SnapshotInfo, wanted?: WantedPaths): Promise<OpenSnapshot>;
  /** Frames that a reader found damaged. */
  reportDamaged(
    versions: readonly { readonly frame: number; readonly pack: string; readonly generation: number }[],
  ): Promise<void>;
  close(): Promise<void>;
}
