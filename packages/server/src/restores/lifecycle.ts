/** The changes of a restore's state, each with its event and its audit record, in one transaction. */

import { cancelJob } from "../kernel/jobs/index.ts";
import type { Tx } from "../kernel/tx.ts";
import { restoreCompleted, restoreFailed, restoreStarted } from "./events.ts";
import type { FailureCode } from "./rules.ts";
import {
  completeRestore,
  endRestore,
  type FrozenArchive,
  insertRestore,
  type NewRestore,
  type Progress,
  type RestoreRecord,
} from "./store.ts";

type Ids = Pick<RestoreRecord, "id" | "account_id" | "vault_id" | "snapshot_id">;

export async function createRestore(tx: Tx, row: NewRestore): Promise<void> {
  await insertRestore(tx, row);
  tx.audit({ action: "restore.created", targets: targetsOf(row) });
  tx.emit(restoreStarted, { restore_id: row.id, snapshot_id: row.snapshot_id }, { vaultId: row.vault_id });
}

/** Completes a running restore, whose row the transaction has locked. */
export async function completePrepared(
  tx: Tx,
  restore: Ids,
  archive: FrozenArchive,
  result: Progress & { readonly warningCount: number },
): Promise<void> {
  await completeRestore(tx, restore.account_id, restore.id, archive);
  noteCompleted(tx, restore, result);
}

/** The event and the audit record of a restore that the transaction has completed. */
export function noteCompleted(tx: Tx, restore: Ids, result: Progress & { readonly warningCount: number }): void {
  tx.audit({ action: "restore.completed", targets: targetsOf(restore) });
  tx.emit(
    restoreCompleted,
    {
      ...{ restore_id: restore.id, snapshot_id: restore.snapshot_id },
      ...{ files_restored: result.filesRestored, bytes_restored: result.bytesRestored },
      warning_count: result.warningCount,
    },
    { vaultId: restore.vault_id },
  );
}

/** Ends an open restore without its files, and its job with it. Returns false when it is not open any more. */
export async function endOpenRestore(
  tx: Tx,
  restore: Ids & Pick<RestoreRecord, "job_id">,
  end: { readonly state: "failed" | "canceled"; readonly code: FailureCode },
): Promise<boolean> {
  if (!(await endRestore(tx, restore.account_id, restore.id, end))) return false;
  if (restore.job_id !== null) await cancelJob(tx, restore.job_id);
  const fields = { restore_id: restore.id, snapshot_id: restore.snapshot_id, failure: end.code };
  tx.emit(restoreFailed, fields, { vaultId: restore.vault_id });
  tx.audit({
    ...{ action: `restore.${end.state}`, targets: targetsOf(restore) },
    ...{ outcome: end.state === "failed" ? "failure" : "success", metadata: { failure: end.code } },
  });
  return true;
}

function targetsOf({ id, snapshot_id: snapshotId }: Pick<Ids, "id" | "snapshot_id">) {
  return [
    { type: "restore", id },
    { type: "snapshot", id: snapshotId },
  ];
}
