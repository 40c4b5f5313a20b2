/**
 * Changes of snapshots: retention, holds, deletion.
 *
 * Every change is written to the object store before the catalog. So a lost catalog loses no hold and no lock, and a
 * rebuild does not bring a deleted snapshot back.
 *
 * The changes of a snapshot are numbered, and a conditional write decides who gets a number. A caller that finds the next
 * number used applies that change to the catalog first and decides again. So store and catalog have the same changes in the
 * same order. A catalog that misses a change (after a crash, or as an old copy) applies it before it decides anything.
 *
 * A deletion has four steps: row is `deleting` → tombstone in the store → row deleted → manifest deleted. Holds and locks
 * are checked in the first step; after it the deletion cannot be stopped. If it is interrupted, the next prune completes it.
 */

import type { Retention, SnapshotRow } from "../catalog/catalog.ts";
import { CatalogError } from "../catalog/catalog.ts";
import { FormatError } from "../format/bytes.ts";
import { decodeChange, encodeChange } from "../format/manifest.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { Vault } from "../vault.ts";

/** Attempts to get a number. No snapshot has so many changes at once: more attempts would be an endless loop. */
const maxAttempts = 1000;

/** Sets the retention of a snapshot. A lock that is running can be extended and not shortened. */
export async function setRetention(vault: Vault, id: string, retention: Retention): Promise<void> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const { retention: old, changes, status } = await applyStoredChanges(vault, id);
    const now = vault.ctx.now();
    if (status === "deleting") throw new CatalogError("conflict", `${id} is being deleted`);
    if ((old.lockedUntil ?? 0) > now && (retention.lockedUntil ?? 0) < (old.lockedUntil ?? 0))
      throw new CatalogError("retained", `${id} is locked`);
    const number = changes + 1;
    const change = { kind: "retention", number, at: now, retention } as const;
    const body = encodeChange(vault.authority, vault.keys.vaultId, id, change);
    try {
      await vault.store.put(vault.names.change(id, number), body, { ifAbsent: true });
    } catch (error) {
      if (isObjectStoreError(error, "exists")) continue;
      throw error;
    }
    await vault.catalog.changeRetention(id, retention, number);
    return;
  }
  throw new CatalogError("conflict", `${id} is changed by others at the same time`);
}

/** Deletes a snapshot. The next prune deletes its content. */
export async function deleteSnapshot(vault: Vault, id: string): Promise<void> {
  await applyStoredChanges(vault, id);
  await vault.catalog.beginDeleteSnapshot(id, vault.ctx.now());
  await completeSnapshotDeletion(vault, id);
}

/** Does the steps of a deletion after the first: tombstone, row, manifest. It can be repeated. */
export async function completeSnapshotDeletion(vault: Vault, id: string): Promise<void> {
  const at = vault.ctx.now();
  const tombstone = encodeChange(vault.authority, vault.keys.vaultId, id, { kind: "deleted", number: 0, at });
  await vault.store.put(vault.names.tombstone(id), tombstone);
  try {
    await vault.catalog.deleteSnapshot(id, at);
  } catch (error) {
    // Another process has deleted the row.
    if (!(error instanceof CatalogError) || error.code !== "unknown_snapshot") throw error;
  }
  await vault.store.delete(vault.names.manifest(id));
}

/** Applies the changes in the store that the catalog misses, and returns the row. Throws `FormatError` if one is damaged. */
export async function applyStoredChanges(vault: Vault, id: string): Promise<SnapshotRow> {
  for (;;) {
    const row = await snapshotRow(vault, id);
    const next = vault.names.change(id, row.changes + 1);
    if (row.status === "deleting" || (await vault.store.stat(next)) === null) return row;
    const expected = { snapshot: id, vaultId: vault.keys.vaultId };
    const change = decodeChange(await vault.store.get(next), expected, vault.keys.authorityPublicKey);
    if (change.kind !== "retention" || change.number !== row.changes + 1)
      throw new FormatError(`${next} is another change than its name says`);
    await vault.catalog.changeRetention(id, change.retention, change.number);
  }
}

async function snapshotRow(vault: Vault, id: string): Promise<SnapshotRow> {
  const row = (await vault.catalog.snapshots()).find((each) => each.id === id);
  if (row === undefined) throw new CatalogError("unknown_snapshot", id);
  return row;
}
