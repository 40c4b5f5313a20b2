/**
 * Changes of snapshots: retention, holds, deletion. The object store learns of a change before the index does, so that
 * losing the index loses no hold and no lock, and brings no deleted snapshot back.
 */

import type { Retention, SnapshotRow } from "../index/port.ts";
import { IndexError } from "../index/port.ts";
import { encodeChange } from "../manifest.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { Vault } from "../vault.ts";

/** Changes of one snapshot; more would be a loop gone wild. */
const maxChanges = 10_000;

/** Sets a snapshot's retention. A running lock can be prolonged, never shortened. */
export async function setRetention(vault: Vault, id: string, retention: Retention): Promise<void> {
  const { retention: old } = await snapshotRow(vault, id);
  const now = vault.ctx.now();
  const runs = (old.lockedUntil ?? 0) > now;
  if (runs && (retention.lockedUntil ?? 0) < (old.lockedUntil ?? 0))
    throw new IndexError("retained", `${id} is locked`);
  for (let number = 1; number <= maxChanges; number++) {
    const change = encodeChange(vault.authority, vault.keys.vaultId, id, {
      kind: "retention",
      number,
      at: now,
      retention,
    });
    try {
      await vault.store.put(vault.names.change(id, number), change, { ifAbsent: true });
      await vault.index.changeRetention(id, retention);
      return;
    } catch (error) {
      if (!isObjectStoreError(error, "exists")) throw error;
    }
  }
  throw new IndexError("conflict", `${id} has too many changes`);
}

/** Deletes a snapshot: tombstone, row, manifest. Its content goes with the next collection. */
export async function deleteSnapshot(vault: Vault, id: string): Promise<void> {
  const { retention } = await snapshotRow(vault, id);
  const now = vault.ctx.now();
  if (retention.hold || (retention.lockedUntil ?? 0) > now) throw new IndexError("retained", `${id} is held or locked`);
  const tombstone = encodeChange(vault.authority, vault.keys.vaultId, id, { kind: "deleted", number: 0, at: now });
  await vault.store.put(vault.names.tombstone(id), tombstone);
  await vault.index.deleteSnapshot(id, now);
  await vault.store.delete(vault.names.manifest(id));
}

async function snapshotRow(vault: Vault, id: string): Promise<SnapshotRow> {
  const row = (await vault.index.snapshots()).find((each) => each.id === id);
  if (row === undefined) throw new IndexError("unknown_snapshot", id);
  return row;
}
