/**
 * What snapshots do in the transactions of the catalog. The row of the API and the row of the catalog change in one commit, so
 * a completed snapshot is completed in both or in neither.
 *
 * An upload of the engine that belongs to a snapshot has the snapshot's id as its name. Other uploads are upkeep's.
 */

import { CatalogError } from "@emanet/engine";
import type { CatalogListeners } from "../catalog/index.ts";
import { noteSnapshot, reserveBytes } from "../vaults/index.ts";
import { snapshotCompleted } from "./events.ts";
import { verifySnapshot } from "./jobs.ts";
import { startUpload, targetsOf } from "./lifecycle.ts";
import { addStoredBytes, completeSnapshot, findQueued } from "./store.ts";

const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const catalogListeners: CatalogListeners = {
  async unitAdded(tx, { vaultId, upload, storedBytes }) {
    if (!uuidForm.test(upload)) return;
    if (!(await addStoredBytes(tx, upload, storedBytes))) throw new CatalogError("unknown_upload", upload);
    await reserveBytes(tx, vaultId, storedBytes);
  },

  async committed(tx, { vaultId, upload, snapshot }) {
    if (!uuidForm.test(upload)) return;
    const queued = await findQueued(tx, upload);
    if (queued !== undefined) await startUpload(tx, queued);
    const done = await completeSnapshot(tx, upload, {
      ...{ sizeBytes: snapshot.size, fileCount: snapshot.files, warningCount: snapshot.warnings },
      rootHash: snapshot.rootId,
    });
    // It was canceled or has failed. With this code the engine deletes the manifest again.
    if (done === undefined) throw new CatalogError("not_closed", upload);
    const size = { snapshot_id: upload, size_bytes: snapshot.size };
    tx.emit(snapshotCompleted, size);
    tx.audit({ action: "snapshot.completed", targets: targetsOf(upload, done.source_id) });
    const noted = { id: upload, status: "completed", completedAt: tx.now, sizeBytes: snapshot.size };
    await noteSnapshot(tx, done.source_id, noted);
    const payload = { accountId: done.account_id, vaultId, snapshotId: upload };
    await tx.job({ task: verifySnapshot, payload, key: upload });
  },
};
