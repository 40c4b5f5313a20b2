/** Snapshots that a caller may change, locked. What it may not see is answered like what does not exist. */

import type { Principal } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";
import type { Tx } from "../kernel/tx.ts";
import { isVaultAllowed, writerOf } from "../vaults/index.ts";
import { seesStorage } from "./new-upload.ts";
import { lockSnapshot, type SnapshotRecord } from "./store.ts";

type AccountPrincipal = Extract<Principal, { accountId: string }>;

/** Locks a snapshot. A client that may not read sees only what it created. */
export async function lockOwnSnapshot(tx: Tx, principal: AccountPrincipal, id: string): Promise<SnapshotRecord> {
  const record = await lockSnapshot(tx, principal.accountId, id);
  if (record === undefined || !isVaultAllowed(principal, record.vault_id)) throw new Problem("not_found");
  if (!seesStorage(principal) && !isCreator(principal, record)) throw new Problem("not_found");
  return record;
}

/** An open upload obeys its creator alone. */
export function isCreator(principal: AccountPrincipal, record: SnapshotRecord): boolean {
  const { kind, id } = writerOf(principal);
  return record.created_by_kind === kind && record.created_by_id === id;
}

/** People with these roles may end uploads of others. */
export function isManager(principal: AccountPrincipal): boolean {
  return principal.kind === "member" && (principal.role === "owner" || principal.role === "manager");
}
