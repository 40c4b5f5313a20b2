/** The part of the catalog that the vault's chain is applied to: its head, epochs, revoked writers, retention. */

import type { ChainHead } from "../format/chain.ts";
import type { Retention } from "../format/snapshot.ts";

export interface ChainCatalog {
  /** The newest record of the vault's chain that was applied. */
  chainHead(): Promise<ChainHead>;
  /** Sets the head, unless it is there or beyond already. `epoch` is what a record of a new epoch names. */
  advanceChain(head: ChainHead, epoch?: number): Promise<void>;
  /** The newest epoch that an applied record names; 1 if none does. */
  newestEpoch(): Promise<number>;
  /** Sessions of the writer from this number on are refused. A revocation is never moved to a later session. */
  revokeWriter(writerId: string, fromSession: number): Promise<void>;
  /** The first session number of the writer that is refused; null if the writer is not revoked. */
  revokedFrom(writerId: string): Promise<number | null>;
  /**
   * Applies the chain's record `sequence`. A record that is not newer than the newest one applied to the snapshot is
   * ignored. Rejects with `conflict` where the snapshot is being deleted.
   */
  changeRetention(id: string, retention: Retention, sequence: number): Promise<void>;
  /** Sets the status `deleting`. Rejects with `retained` if the snapshot is held, or locked at `now`. */
  beginDeleteSnapshot(id: string, now: number): Promise<void>;
  /**
   * Sets a row that is `deleting` back to `completed`, with the retention of the chain's record `sequence`: a hold or a lock
   * that the chain got before the deletion. Returns false if the row is not `deleting`, or if the record is not newer
   * than the newest one applied to it.
   */
  cancelDeleteSnapshot(id: string, retention: Retention, sequence: number): Promise<boolean>;
  /** Removes a snapshot's row. Rejects with `retained` if it is held, or locked at `now`. */
  deleteSnapshot(id: string, now: number): Promise<void>;
}
