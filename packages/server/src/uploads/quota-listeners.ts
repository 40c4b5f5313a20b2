/**
 * The quota of packs that are stored and not registered yet. A pack is reserved before it is stored. When its unit is registered,
 * the domain `snapshots` counts the unit, so the reservation ends in the same transaction, before. What is left is released
 * when the upload ends.
 */

import type { CatalogListeners } from "../catalog/index.ts";
import type { Tx } from "../kernel/tx.ts";
import { releaseBytes, type Vaults } from "../vaults/index.ts";
import { changeReserved } from "./store.ts";

const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Call it before the listeners of `snapshots` are registered. */
export function openUploads(vaults: Pick<Vaults, "listen">): void {
  vaults.listen(quotaListeners);
}

const quotaListeners: CatalogListeners = {
  unitAdded: (tx, { vaultId, upload, storedBytes }) => release(tx, vaultId, upload, storedBytes),
  committed: (tx, { vaultId, upload }) => release(tx, vaultId, upload, Number.MAX_SAFE_INTEGER),
  async ended(tx, { vaultId, uploads }) {
    for (const upload of uploads) await release(tx, vaultId, upload, Number.MAX_SAFE_INTEGER);
  },
};

/** Ends the reservation of so many bytes, or of all that there are. */
export async function release(tx: Tx, vaultId: string, upload: string, bytes: number): Promise<void> {
  // Other uploads are upkeep's.
  if (!uuidForm.test(upload)) return;
  const released = -(await changeReserved(tx, upload, -bytes));
  if (released > 0) await releaseBytes(tx, vaultId, released);
}
