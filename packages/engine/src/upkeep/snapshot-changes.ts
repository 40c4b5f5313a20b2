/**
 * Changes of snapshots: retention, holds, deletion. The object store learns of a change before the catalog does, so that
 * losing the catalog loses no hold and no lock, and brings no deleted snapshot back.
 *
 * Changes of one snapshot are numbered, and the store arbitrates the numbers: whoever finds the next number taken brings
 * the catalog up to date with it first and judges again. So store and catalog see the same changes in the same order, and an
 * catalog that lost one (a crash, an old copy) catches up before it decides anything.
 *
 * States of a deletion: row → row `deleting` (the last word: holds and locks are judged here, and refused afterwards) →
 * tombstone in the store → row gone → manifest gone. A crash leaves it to the next collection, which goes on.
 */

import type { Retention, SnapshotRow } from "../catalog/catalog.ts";
import { CatalogError } from "../catalog/catalog.ts";
import { FormatError } from "../format/bytes.ts";
import { decodeChange, encodeChange } from "../format/manifest.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { Vault } from "../vault.ts";

/** Attempts to get a number of one's own; more would be a loop gone wild. */
const maxAttempts = 1000;

/** Sets a snapshot's retention. A running lock can be prolonged, never shortened. */
export async function setRetention(vault: Vault, id: string, retention: Retention): Promise<void> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const { retention: old, changes, status } = await caughtUp(vault, id);
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
  throw new CatalogError("conflict", `${id} changes all the time`);
}

/** Deletes a snapshot. Its content goes with the next collection. */
export async function deleteSnapshot(vault: Vault, id: string): Promise<void> {
  await caughtUp(vault, id);
  await vault.catalog.beginDeleteSnapshot(id, vault.ctx.now());
  await finishDeletion(vault, id);
}

/** Ends a deletion that was decided: tombstone, row, manifest. May be repeated. */
export async function finishDeletion(vault: Vault, id: string): Promise<void> {
  const at = vault.ctx.now();
  const tombstone = encodeChange(vault.authority, vault.keys.vaultId, id, { kind: "deleted", number: 0, at });
  await vault.store.put(vault.names.tombstone(id), tombstone);
  try {
    await vault.catalog.deleteSnapshot(id, at);
  } catch (error) {
    // Somebody else has finished it.
    if (!(error instanceof CatalogError) || error.code !== "unknown_snapshot") throw error;
  }
  await vault.store.delete(vault.names.manifest(id));
}

/** The row, brought up to date with every change that the store has. Throws `FormatError` where one does not read: nothing is decided then. */
export async function caughtUp(vault: Vault, id: string): Promise<SnapshotRow> {
  for (;;) {
    const row = await snapshotRow(vault, id);
    const next = vault.names.change(id, row.changes + 1);
    if (row.status === "deleting" || (await vault.store.stat(next)) === null) return row;
    const expected = { snapshot: id, vaultId: vault.keys.vaultId };
    const change = decodeChange(await vault.store.get(next), expected, vault.keys.authorityPublicKey);
    if (change.kind !== "retention" || change.number !== row.changes + 1)
      throw new FormatError(`${next} is not the change that its name says`);
    await vault.catalog.changeRetention(id, change.retention, change.number);
  }
}

async function snapshotRow(vault: Vault, id: string): Promise<SnapshotRow> {
  const row = (await vault.catalog.snapshots()).find((each) => each.id === id);
  if (row === undefined) throw new CatalogError("unknown_snapshot", id);
  return row;
}
