/** What a proof of erasure says. It has ids and counts, and no names: it is shown to others. */

import type { ErasureRow } from "./store.ts";

export function proofOf(row: ErasureRow, issuer: string) {
  if (row.erased_at === null || row.keys_destroyed_at === null) throw new Error("the vault is not erased yet");
  return {
    ...{ iss: issuer, erasure_id: row.id, account_id: row.account_id, vault_id: row.vault_id },
    ...{ cause: row.cause, act_id: row.act_id, ordered_by: row.ordered_by },
    wait_ended_at: row.due_at.toISOString(),
    begun_at: row.created_at.toISOString(),
    keys_destroyed_at: row.keys_destroyed_at.toISOString(),
    erased_at: row.erased_at.toISOString(),
    erased: { key_objects: row.key_objects, objects: row.objects, bytes: row.bytes, snapshots: row.snapshots },
  };
}
