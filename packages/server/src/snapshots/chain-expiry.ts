/**
 * When the signed chain of a vault lets a snapshot go. No snapshot is removed before the chain says so: a row of the database alone
 * removes nothing. Deletion and retention write it, before their own row changes.
 */

import { setRetention, signedRetention, type Vault } from "@emanet/engine";
import type { Services } from "../kernel/domain-services.ts";
import { engineId } from "./engine-id.ts";

interface Place {
  readonly id: string;
  readonly account_id: string;
  readonly vault_id: string;
}

/** Null: it stays. Holds and locks are not changed. An upload that ended without a snapshot has nothing in the chain. */
export async function setChainExpiry(
  { vaults }: Pick<Services, "vaults">,
  { id, account_id: accountId, vault_id: vaultId }: Place,
  expiresAt: Date | null,
  note: { readonly reason: string; readonly by: string },
): Promise<void> {
  await setExpiryIn(await vaults.open(accountId, vaultId), id, expiresAt, note);
}

export async function setExpiryIn(
  vault: Vault,
  id: string,
  expiresAt: Date | null,
  note: { readonly reason: string; readonly by: string },
): Promise<void> {
  const known = await signedRetention(vault, engineId(id));
  const wanted = expiresAt?.getTime() ?? null;
  if (known === null || known.expiresAt === wanted) return;
  await setRetention(vault, engineId(id), (old) => ({ ...old, expiresAt: wanted }), note);
}

/** Whether the chain lets the snapshot go at this time. True where the chain does not have it: then nothing of it is there. */
export async function mayGo(vault: Vault, id: string, now: Date): Promise<boolean> {
  const known = await signedRetention(vault, engineId(id));
  return known === null || (known.expiresAt !== null && known.expiresAt <= now.getTime());
}
