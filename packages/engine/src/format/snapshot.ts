/** A snapshot's data: its manifest stores them, the catalog keeps them in a row. */

/** How long a snapshot is kept. Times are milliseconds since 1970, UTC. */
export interface Retention {
  readonly expiresAt: number | null;
  /** The snapshot is not deleted before this time. */
  readonly lockedUntil: number | null;
  /** The snapshot is not deleted while this is set. */
  readonly hold: boolean;
}

export const noRetention: Retention = { expiresAt: null, lockedUntil: null, hold: false };

/**
 * - `completed`: the upload was committed.
 * - `recovered`: a rebuild or a prune found the manifest without a row.
 * - `deleting`: the deletion has begun. It is cancelled only if the chain got a hold or a lock of the snapshot first. The
 *   snapshot protects its items until its row is removed.
 */
export type SnapshotStatus = "completed" | "recovered" | "deleting";

export interface SnapshotRow {
  readonly id: string;
  readonly source: string;
  readonly session: number;
  readonly startedAt: number;
  readonly completedAt: number;
  readonly rootOrdinal: number;
  readonly rootId: Uint8Array;
  readonly size: number;
  readonly files: number;
  readonly warnings: number;
  readonly storedBytes: number;
  readonly status: SnapshotStatus;
  readonly retention: Retention;
  /** The sequence number of the newest chain record that set the retention; 0 if there is none yet. */
  readonly changes: number;
  /** Encoded `Bitmap` of the ordinals that the snapshot reaches. */
  readonly reach: Uint8Array;
}
