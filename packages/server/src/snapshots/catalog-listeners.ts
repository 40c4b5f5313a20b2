/**
 * What snapshots do in the transactions of the catalog. The row of the API and the row of the catalog change in one commit, so
 * a completed snapshot is completed in both or in neither.
 *
 * An upload of the engine that belongs to a snapshot is named by the snapshot's id. Other uploads are upkeep's. Upkeep also commits
 * a snapshot whose upload ended between its manifest and its row; if the row of the API is still open, it is completed with it.
 */

import { CatalogError } from "@emanet/engine";
import type { CatalogListeners } from "../catalog/index.ts";
import type { Tx } from "../kernel/tx.ts";
import { projectSnapshot } from "../paths/index.ts";
import { addBytes, noteSnapshot, releaseBytes, reserveBytes } from "../vaults/index.ts";
import { engineId, snapshotIdOf, snapshotOfUpload } from "./engine-id.ts";
import { snapshotCompleted } from "./events.ts";
import { verifySnapshot } from "./jobs.ts";
import { noteAgent, startUpload, targetsOf } from "./lifecycle.ts";
import {
  addStoredBytes,
  type CompletedFacts,
  completeSnapshot,
  type EndedUpload,
  findQueued,
  takeVerification,
} from "./store.ts";

export const catalogListeners: CatalogListeners = {
  async unitAdded(tx, { vaultId, upload, storedBytes }) {
    const id = snapshotOfUpload(upload);
    if (id === null) return addBytes(tx, vaultId, storedBytes);
    const [isOpen] = await Promise.all([addStoredBytes(tx, id, storedBytes), reserveBytes(tx, vaultId, storedBytes)]);
    if (!isOpen) throw new CatalogError("unknown_upload", upload);
  },

  async committed(tx, { vaultId, upload, snapshot, hasContentOf }) {
    const id = snapshotIdOf(snapshot.id);
    const facts = {
      ...{ sizeBytes: snapshot.size, fileCount: snapshot.files, warningCount: snapshot.warnings },
      rootHash: snapshot.rootId,
    };
    const done = (await completeSnapshot(tx, id, facts)) ?? (await completeQueued(tx, id, facts));
    if (done === undefined) {
      // Upkeep has found the manifest of an upload that ended. `removal.ts` deletes the snapshot again.
      if (snapshotOfUpload(upload) === null) return;
      // It was canceled or has failed. With this code the engine deletes the manifest again.
      throw new CatalogError("not_closed", upload);
    }
    tx.emit(snapshotCompleted, { snapshot_id: id, size_bytes: snapshot.size }, { vaultId });
    tx.audit({ action: "snapshot.completed", targets: targetsOf(id, done.source_id) });
    const noted = { id, status: "completed", completedAt: tx.now, sizeBytes: snapshot.size };
    noteAgent(tx, done, { snapshotId: id, result: "completed", failure: null });
    const { account_id: accountId, source_id: sourceId, created_at: createdAt, parent_id: parentId } = done;
    // A night on which nothing changed is what the night before was: nothing is read back or compared again (docs/decisions/0596).
    const [isLike] = await Promise.all([
      parentId !== null && hasContentOf(engineId(parentId)),
      noteSnapshot(tx, sourceId, noted),
    ]);
    const likeId = isLike ? parentId : null;
    const [isVerified] = await Promise.all([
      likeId !== null && takeVerification(tx, { accountId, id, from: likeId }),
      projectSnapshot(tx, { id, accountId, vaultId, sourceId, createdAt, likeId }),
    ]);
    if (!isVerified) await tx.job({ task: verifySnapshot, payload: { accountId, vaultId, snapshotId: id }, key: id });
  },

  packDeleted: (tx, { vaultId, storedBytes }) => releaseBytes(tx, vaultId, storedBytes),
};

/** The call that began the upload ended before it made the snapshot `running`. */
async function completeQueued(tx: Tx, id: string, facts: CompletedFacts): Promise<EndedUpload | undefined> {
  const queued = await findQueued(tx, id);
  if (queued === undefined) return undefined;
  await startUpload(tx, queued);
  return completeSnapshot(tx, id, facts);
}
