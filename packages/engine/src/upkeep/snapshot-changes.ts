/**
 * Changes of snapshots: retention, holds, deletion.
 *
 * Every change is a record of the vault's chain before it is in the catalog (`catalog/vault-chain.ts`). So a lost catalog
 * loses no hold and no lock, and a rebuild does not bring a deleted snapshot back.
 *
 * The chain is read from the store before anything is made less strict, and the stricter of chain and row decides. So an
 * attacker who can write the database alone cannot lift a hold or a lock. A difference between the two throws
 * `ChainMismatchError`.
 *
 * A deletion has four steps: row is `deleting` → record in the chain → row deleted → manifest deleted. Holds and locks are
 * checked before each of the first two. If a deletion is interrupted, the next prune completes it. A hold or a lock that the
 * chain got before the deletion wins: the deletion is cancelled, by the next prune if both processes have ended.
 */

import { allSnapshots } from "../catalog/all-snapshots.ts";
import type { Retention, SnapshotRow } from "../catalog/catalog.ts";
import { CatalogError } from "../catalog/catalog.ts";
import { appendToChain, applyNewRecords, ChainMismatchError, chainWriter } from "../catalog/vault-chain.ts";
import type { Vault } from "../vault.ts";
import { assertChainAllowsDeletion, differenceOf, isRetained } from "./compare-chain.ts";

/** Why a change was made and by whom, as the chain keeps it. */
export interface ChangeNote {
  readonly reason?: string | undefined;
  /** A member, a program or a task, as the caller names it. */
  readonly by?: string | undefined;
}

/** What becomes of the retention that a snapshot has. */
export type RetentionChange = Retention | ((old: Retention) => Retention);

/**
 * Sets the retention of a snapshot. A lock that is running can be extended and not shortened. A function gets the retention that the
 * record follows, so changes at the same time do not undo each other.
 */
export async function setRetention(
  vault: Vault,
  id: string,
  change: RetentionChange,
  { reason = "", by = "" }: ChangeNote = {},
): Promise<void> {
  const chain = chainWriter(vault, vault.authority);
  await matchingRow(vault, id);
  await appendToChain(chain, async () => {
    const { retention: old, status } = await matchingRow(vault, id);
    if (status === "deleting") throw new CatalogError("conflict", `${id} is being deleted`);
    const retention = typeof change === "function" ? change(old) : change;
    const runningLock = (old.lockedUntil ?? 0) > vault.ctx.now() ? (old.lockedUntil ?? 0) : 0;
    if ((retention.lockedUntil ?? 0) < runningLock) throw new CatalogError("retained", `${id} is locked`);
    return { kind: "retention", snapshot: id, retention, reason, by };
  });
  const row = await vault.catalog.snapshot(id);
  if (row !== null && row.status !== "deleting") return;
  // A deletion began between the check and the record. The chain does not have it, so a hold or a lock wins.
  if (!(await cancelIfRetained(vault, id))) throw new CatalogError("conflict", `${id} is being deleted`);
}

/** Deletes a snapshot. The next prune deletes its content. */
export async function deleteSnapshot(vault: Vault, id: string, { by = "" }: ChangeNote = {}): Promise<void> {
  await matchingRow(vault, id);
  await vault.catalog.beginDeleteSnapshot(id, vault.ctx.now());
  await completeSnapshotDeletion(vault, id, { by });
}

/** Does the steps of a deletion after the first: record, row, manifest. It can be repeated. */
export async function completeSnapshotDeletion(vault: Vault, id: string, { by = "" }: ChangeNote = {}): Promise<void> {
  if (!(await isDeletedInChain(vault, id))) {
    await appendToChain(chainWriter(vault, vault.authority), async () => {
      if (await cancelIfRetained(vault, id)) throw new CatalogError("retained", `${id} is held or locked`);
      await assertChainAllowsDeletion(vault, id);
      return { kind: "deleted", snapshot: id, by };
    });
  }
  try {
    await vault.catalog.deleteSnapshot(id, vault.ctx.now());
  } catch (error) {
    // Another process has deleted the row.
    if (!(error instanceof CatalogError) || error.code !== "unknown_snapshot") throw error;
  }
  await vault.store.delete(vault.names.manifest(id));
}

/** Whether the chain has the deletion of the snapshot. */
export async function isDeletedInChain(vault: Vault, id: string): Promise<boolean> {
  return (await vault.chain.read()).snapshots.get(id)?.deleted === true;
}

/** Completes the deletions that were interrupted. One that the chain forbids by a hold or a lock is cancelled. */
export async function completeInterruptedDeletions(vault: Vault): Promise<void> {
  for await (const { id, status } of allSnapshots(vault.catalog)) {
    if (status !== "deleting") continue;
    try {
      await completeSnapshotDeletion(vault, id);
    } catch (error) {
      if (!(error instanceof CatalogError) || error.code !== "retained") throw error;
    }
  }
}

/**
 * Cancels a deletion if the chain got a hold or a lock of the snapshot before the deletion. Returns whether the row is not
 * `deleting` any more. A row with a newer change than the chain has was changed by something else and stays as it is.
 */
async function cancelIfRetained(vault: Vault, id: string): Promise<boolean> {
  const known = (await vault.chain.read()).snapshots.get(id);
  if (known === undefined || known.deleted || !isRetained(known.retention, vault.ctx.now())) return false;
  await vault.catalog.cancelDeleteSnapshot(id, known.retention, known.sequence);
  const row = await vault.catalog.snapshot(id);
  return row !== null && row.status !== "deleting";
}

/** Comparisons of a row with the chain. Another process may add a record between the two reads; more would be a loop. */
const maxComparisons = 10;

/** The row, once every record of the chain is applied. Throws `ChainMismatchError` if the chain says something else. */
async function matchingRow(vault: Vault, id: string): Promise<SnapshotRow> {
  let difference: string | null = null;
  for (let i = 0; i < maxComparisons; i++) {
    await applyNewRecords(chainWriter(vault, vault.authority));
    const row = await vault.catalog.snapshot(id);
    if (row === null) throw new CatalogError("unknown_snapshot", id);
    if (row.status === "deleting") return row;
    // Read after the row: the chain has every record that was applied to it.
    const known = (await vault.chain.read()).snapshots.get(id);
    difference = differenceOf(id, row, known);
    if (difference === null) return row;
    if ((known?.sequence ?? 0) <= row.changes) break;
  }
  throw new ChainMismatchError([difference ?? id]);
}
