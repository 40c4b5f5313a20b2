/** What the operations of retention share. */

import type { Principal } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { contentProblem, findSnapshot, lockOwnSnapshot, type SnapshotRecord } from "../snapshots/index.ts";
import { findVaultToOpen, isVaultAllowed } from "../vaults/index.ts";
import { type ActRow, findAct } from "./act-store.ts";
import { lockPolicies } from "./policy-store.ts";

/** Holds, locks and the cancelling of acts. */
export const ownerOnly = { kind: "account", scope: "snapshots:write", roles: ["owner"] } as const;

type AccountPrincipal = Extract<Principal, { accountId: string }>;

/** A completed snapshot, locked. An open or failed one is `state_conflict`, an expired one is gone. */
export async function lockCompleted(tx: Tx, principal: AccountPrincipal, id: string): Promise<SnapshotRecord> {
  const record = await lockOwnSnapshot(tx, principal, id);
  const problem = contentProblem(record.status);
  if (problem !== null) throw new Problem(problem);
  return record;
}

/**
 * The same, for a hold or a lock. It takes the vault's lock first, as acts and erasures do: an erasure that begins meanwhile sees what is kept, and after it
 * there is no such snapshot any more.
 */
export async function lockToKeep(tx: Tx, principal: AccountPrincipal, id: string): Promise<SnapshotRecord> {
  const { accountId } = principal;
  const found = await findSnapshot(tx, accountId, id);
  if (found === undefined) throw new Problem("not_found");
  await lockPolicies(tx, found.vault_id);
  if ((await findVaultToOpen(tx, accountId, found.vault_id)) === undefined) throw new Problem("not_found");
  return lockCompleted(tx, principal, id);
}

/** The act, if the caller may see its vault; else `not_found`. */
export async function requireAct(tx: ReadTx, principal: AccountPrincipal, id: string): Promise<ActRow> {
  const act = await findAct(tx, principal.accountId, id);
  if (act === undefined || !isVaultAllowed(principal, act.vault_id)) throw new Problem("not_found");
  return act;
}
