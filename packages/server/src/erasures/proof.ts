/** What a proof of erasure says. It has ids and counts, and no names: it is shown to others. */

import type { Decided } from "./decided.ts";

export function proofOf(decided: Decided, erasedAt: Date, issuer: string) {
  const { cause, keyObjects, objects, bytes, snapshots } = decided;
  if (decided.keysDestroyedAt === null) throw new Error("the vault is not erased yet");
  return {
    ...{ iss: issuer, erasure_id: decided.id, account_id: decided.accountId, vault_id: decided.vaultId },
    ...{ cause, act_id: decided.actId, ordered_by: decided.orderedBy },
    wait_ended_at: decided.dueAt.toISOString(),
    begun_at: decided.begunAt.toISOString(),
    keys_destroyed_at: decided.keysDestroyedAt.toISOString(),
    erased_at: erasedAt.toISOString(),
    erased: { key_objects: keyObjects, objects, bytes, snapshots },
  };
}
