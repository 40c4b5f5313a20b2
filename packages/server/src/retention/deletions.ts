/**
 * Deletion of a source, of a taxpayer with its vault, and of a vault. Steps:
 * 1. A person orders it. It is refused while a hold, a lock or a floor keeps a snapshot. It waits 72 hours (`acts.ts`); until then
 *    backups and restores go on as before.
 * 2. When its time has come it is judged again, by the rows and by what is signed. Then the chain has the act as done: this record
 *    decides. A process that ends here leaves rows that follow with the next run.
 * 3. The rows are not found any more, open uploads end, agents lose the vault.
 * 4. Its snapshots expire as others do (`apply.ts`), restores of them end, and prune returns the space. A vault of which none is left is
 *    erased (`erasures`).
 */

import { unbindVault } from "../agents/index.ts";
import type { Ctx } from "../kernel/http/endpoint.ts";
import { Problem } from "../kernel/problems.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { endUpload } from "../snapshots/index.ts";
import { deleteTaxpayer } from "../taxpayers/index.ts";
import { deleteSources, deleteVault } from "../vaults/index.ts";
import { type ActRow, findAct, waitingAct, waitingActsOf } from "./act-store.ts";
import { cancelAct, emitAct, fromRow, scheduleAct, type WantedAct } from "./acts.ts";
import { type ChainAct, recordAct } from "./chain.ts";
import { openUploadsOfDeleted } from "./deletion-store.ts";
import { deletionCompleted } from "./events.ts";
import { lockPolicies, policiesOf, type VaultPolicies } from "./policy-store.ts";
import { type Decision, decide, type Reason } from "./rules.ts";
import { signedDecisions } from "./signed-decisions.ts";
import { completedSnapshots, type VaultSnapshot } from "./snapshot-store.ts";
import type { Steps } from "./steps.ts";

export interface WantedDeletion {
  readonly kind: "source_deletion" | "taxpayer_deletion" | "vault_deletion";
  readonly accountId: string;
  readonly vaultId: string;
  readonly sourceId: string | null;
  readonly taxpayerId: string | null;
}

/** Orders a deletion. One that waits already stays as it is: its time does not begin again. Returns the act. */
export async function scheduleDeletion(
  tx: Tx,
  ctx: Pick<Ctx, "random" | "services">,
  deletion: WantedDeletion,
  memberId: string,
): Promise<ActRow> {
  const { accountId, vaultId, sourceId } = deletion;
  const wanted: WantedAct = { ...deletion, snapshotId: null, policy: null };
  await lockPolicies(tx, vaultId);
  const waiting = await waitingAct(tx, wanted);
  if (waiting !== undefined) return waiting;
  const snapshots = await completedSnapshots(tx, { vaultId, sourceId });
  refuseKept(decideAsDeleted(snapshots, await policiesOf(tx, vaultId), tx.now));
  const act = await findAct(tx, accountId, await scheduleAct(tx, ctx, wanted, memberId));
  if (act === undefined) throw new Error("an act that was just scheduled is gone");
  return act;
}

/** Throws for the strongest reason that keeps one of them. */
function refuseKept(decisions: readonly Decision[]): void {
  const reasons = new Set<Reason>(decisions.flatMap((one) => one.reasons));
  if (reasons.has("hold")) throw new Problem("legal_hold");
  if (reasons.size > 0) throw new Problem("retention_locked");
}

function decideAsDeleted(
  snapshots: readonly VaultSnapshot[],
  policies: Pick<VaultPolicies, "for">,
  now: Date,
): readonly Decision[] {
  return snapshots.flatMap((one) => decide([{ ...one, isDeleted: true }], policies.for(one.sourceId), now.getTime()));
}

/** Whether rows or signed records keep a snapshot of what is to be deleted. */
export async function isKept(
  steps: Pick<Steps, "vault" | "vaultId" | "now" | "signal">,
  tx: ReadTx,
  source: string | null,
): Promise<boolean> {
  const { vaultId, now } = steps;
  const policies = await policiesOf(tx, vaultId);
  const snapshots = await completedSnapshots(tx, { vaultId, sourceId: source });
  if (decideAsDeleted(snapshots, policies, now).some(({ cause }) => cause === null)) return true;
  // Also those whose manifest somebody has hidden.
  if (source === null)
    for (const [, { retention }] of (await steps.vault.chain.read()).live())
      if (retention.hold || (retention.lockedUntil ?? 0) > now.getTime()) return true;
  const isMeant = (id: string) => source === null || id === source;
  const signed = await signedDecisions(steps, policies, snapshots, isMeant);
  return [...signed.values()].some(({ cause }) => cause === null);
}

/** Deletes what the act names. Returns false where something keeps it. What the chain has is decided already. */
export async function carryOutDeletion(steps: Steps, tx: Tx, act: ActRow, known: ChainAct): Promise<boolean> {
  const { accountId, vaultId, vault } = steps;
  if (known.done !== true) {
    if (await isKept(steps, tx, known.source)) return false;
    await recordAct(vault, act.id, { ...known, done: true }, act.created_by);
  }
  for (const other of await waitingActsOf(tx, { accountId, vaultId, sourceId: known.source }))
    if (other.id !== act.id) await cancelAct(tx, vault, other, null);
  await deleteRows(tx, { accountId, vaultId, sourceId: known.source });
  emitAct(tx, deletionCompleted, fromRow(act));
  return true;
}

/** `sourceId` null: the vault, with its taxpayer if it has one. */
export async function deleteRows(
  tx: Tx,
  { accountId, vaultId, sourceId }: { accountId: string; vaultId: string; sourceId: string | null },
): Promise<void> {
  await deleteSources(tx, { accountId, vaultId, sourceId });
  if (sourceId !== null) return;
  await deleteVault(tx, accountId, vaultId);
  await deleteTaxpayer(tx, accountId, vaultId);
  await unbindVault(tx, accountId, vaultId);
}

/** Uploads into a deleted source end. One that began at the very moment of the deletion ends with the next run. */
export async function endUploadsOfDeleted(tx: Tx, accountId: string, vaultId: string): Promise<void> {
  for (const id of await openUploadsOfDeleted(tx, accountId, vaultId))
    await endUpload(tx, id, { state: "canceled", code: "canceled", reason: null });
}
