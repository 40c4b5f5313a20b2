/** The changes of an upload's state, each with its event, its audit record and its note at the source, in one transaction. */

import { noteResult, type UploadResult } from "../agents/index.ts";
import type { Tx } from "../kernel/tx.ts";
import { noteSnapshot } from "../vaults/index.ts";
import { snapshotFailed, snapshotStarted } from "./events.ts";
import { releaseUpload } from "./release-upload.ts";
import type { FailureCode, Trigger } from "./rules.ts";
import { type EndedUpload, endSnapshot, insertSnapshot, type NewSnapshot, startSnapshot } from "./store.ts";

/** Adds a snapshot, queued or already running. */
export async function createSnapshot(
  tx: Tx,
  row: NewSnapshot & { readonly state: "queued" | "running" },
): Promise<void> {
  tx.audit({ action: "snapshot.created", targets: targetsOf(row.id, row.source_id) });
  if (row.state === "running") emitStarted(tx, row);
  await Promise.all([insertSnapshot(tx, row), note(tx, row.source_id, row.id, row.state)]);
}

/** The first byte of a queued snapshot has arrived. Nothing happens if it came before. */
export async function startUpload(tx: Tx, row: StartedSnapshot): Promise<void> {
  if (!(await startSnapshot(tx, row.account_id, row.id))) return;
  emitStarted(tx, row);
  await note(tx, row.source_id, row.id, "running");
}

/** Ends an open upload without a snapshot; a job then ends it in the catalog too. Returns false when it is not open any more. */
export async function endUpload(
  tx: Tx,
  id: string,
  end: { readonly state: "failed" | "canceled"; readonly code: FailureCode; readonly reason: string | null },
): Promise<boolean> {
  const ended = await endSnapshot(tx, id, end);
  if (ended === undefined) return false;
  tx.emit(snapshotFailed, { snapshot_id: id, failure: end.code }, { vaultId: ended.vault_id });
  tx.audit({
    ...{ action: `snapshot.${end.state}`, targets: targetsOf(id, ended.source_id) },
    ...{ outcome: end.state === "failed" ? "failure" : "success", metadata: { failure: end.code } },
  });
  await note(tx, ended.source_id, id, end.state);
  noteAgent(tx, ended, { snapshotId: id, result: end.state, failure: end.code });
  if (ended.started_at === null) return true;
  const payload = { accountId: ended.account_id, vaultId: ended.vault_id, snapshotId: id };
  await tx.job({ task: releaseUpload, payload, key: id });
  return true;
}

/** Notes how an upload of an agent ended at the agent. An upload in one call needs no agent. */
export function noteAgent(tx: Tx, ended: EndedUpload, result: UploadResult): void {
  const { upload_kind: way, created_by_kind: kind, created_by_id: id } = ended;
  if (way === "upload") noteResult(tx, { kind, id }, result);
}

type StartedSnapshot = Pick<NewSnapshot, "id" | "account_id" | "vault_id" | "source_id"> & {
  readonly trigger: Trigger;
};

function emitStarted(tx: Tx, { id, source_id, trigger, vault_id }: StartedSnapshot): void {
  tx.emit(snapshotStarted, { snapshot_id: id, source_id, trigger }, { vaultId: vault_id });
}

function note(tx: Tx, sourceId: string, id: string, status: string): Promise<void> {
  return noteSnapshot(tx, sourceId, { id, status, completedAt: null, sizeBytes: null });
}

export function targetsOf(id: string, sourceId: string) {
  return [
    { type: "snapshot", id },
    { type: "source", id: sourceId },
  ];
}
