/** The snapshot of a call: who may send files to it, and in which states. */

import type { Principal } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import {
  findSnapshot,
  isCreator,
  lockSnapshot,
  openStates,
  requireAgentVault,
  type SnapshotRecord,
} from "../snapshots/index.ts";
import { isVaultAllowed } from "../vaults/index.ts";

export type AccountPrincipal = Extract<Principal, { accountId: string }>;

/** The caller's own snapshot. What is not its own is answered like what does not exist. */
export async function findOwn(tx: ReadTx, principal: AccountPrincipal, id: string): Promise<SnapshotRecord> {
  return requireOwn(tx, principal, await findSnapshot(tx, principal.accountId, id));
}

/** The same, and nobody else changes it until the transaction ends. */
export async function lockOwn(tx: Tx, principal: AccountPrincipal, id: string): Promise<SnapshotRecord> {
  return requireOwn(tx, principal, await lockSnapshot(tx, principal.accountId, id));
}

async function requireOwn(
  tx: ReadTx,
  principal: AccountPrincipal,
  record: SnapshotRecord | undefined,
): Promise<SnapshotRecord> {
  if (record === undefined || !isVaultAllowed(principal, record.vault_id) || !isCreator(principal, record))
    throw new Problem("not_found");
  await requireAgentVault(tx, principal, record.vault_id);
  return record;
}

/** Throws `state_conflict` unless the snapshot takes files. */
export function assertTakesFiles(record: SnapshotRecord): void {
  if (!isOpen(record) || record.closed_at !== null || !isFileByFile(record)) throw new Problem("state_conflict");
}

export function isOpen({ status }: SnapshotRecord): boolean {
  return (openStates as readonly string[]).includes(status);
}

/** Whether its content comes file by file, or may still come so. */
export function isFileByFile({ upload_kind: kind, status }: SnapshotRecord): boolean {
  return kind === "files" || (kind === "upload" && status === "queued");
}
