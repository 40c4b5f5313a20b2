/** What other domains do in the very transaction of a step of the catalog. */

import type { SnapshotRow } from "@emanet/engine/catalog";
import type { Tx } from "../kernel/tx.ts";

export interface Committed {
  readonly vaultId: string;
  readonly upload: string;
  readonly snapshot: SnapshotRow;
  /**
   * Whether another snapshot of the vault is complete and has the same content: the same tree in the same items. False where a frame of the
   * vault is marked as damaged.
   */
  hasContentOf(id: string): Promise<boolean>;
}

/**
 * A listener runs in the transaction of the step, with row access to the account, after the catalog has made its changes. What
 * it changes is committed with the step. If it throws, nothing of the step happens, and the caller gets its error.
 */
export interface CatalogListeners {
  /** A unit was registered. `storedBytes` are those of its packs. A repeated unit is not told again. */
  unitAdded?(
    tx: Tx,
    unit: { readonly vaultId: string; readonly upload: string; readonly storedBytes: number },
  ): Promise<void>;
  /** The upload has become a snapshot. `ended` is not called for it. */
  committed?(tx: Tx, commit: Committed): Promise<void>;
  /** Uploads have ended without a snapshot. */
  ended?(
    tx: Tx,
    end: { readonly vaultId: string; readonly uploads: readonly string[]; readonly reason: "ended" | "expired" },
  ): Promise<void>;
  /** A pack that was registered is gone from the object store, and its row with this step. Each pack is told once. */
  packDeleted?(tx: Tx, deleted: { readonly vaultId: string; readonly storedBytes: number }): Promise<void>;
}
