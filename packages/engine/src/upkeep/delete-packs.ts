/** Deletes dead packs. A pack becomes `deleting` in the catalog first, then its object is deleted, then its row. */

import type { Vault } from "../vault.ts";
import { deadPacks } from "./live-set.ts";
import { markAndCondemn } from "./mark.ts";

/** Deleting packs needs no key. */
export type PackDeletionVault = Pick<Vault, "catalog" | "store" | "names">;

export interface DeletedPacks {
  readonly packs: readonly string[];
  readonly bytes: number;
}

/** How much one run deletes. */
export interface DeletionBounds {
  /** Packs; no bound if absent. */
  readonly maxPacks?: number | undefined;
  /** Ends the run between two packs. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Condemns and deletes the packs without anything live. `confirm` runs in between and throws if the catalog has lost a snapshot: a
 * rebuild may have run since the catalog was checked. A later rebuild makes the packs live again, so they are not deleted.
 * `left` is the number of dead packs beyond `maxPacks`.
 */
export async function deleteDeadPacks(
  vault: PackDeletionVault,
  confirm: () => Promise<void> = async () => {},
  { maxPacks = Number.POSITIVE_INFINITY, signal }: DeletionBounds = {},
): Promise<DeletedPacks & { readonly left: number }> {
  const packs: string[] = [];
  let bytes = 0;
  const { liveSet, revision, condemned } = await markAndCondemn(vault, (live) => deadPacks(live).slice(0, maxPacks));
  if (condemned.length > 0) await confirm();
  for (const pack of condemned) {
    signal?.throwIfAborted();
    if (!(await vault.catalog.beginDelete(pack, revision, liveSet.deadItems.get(pack) ?? []))) continue;
    if (!(await deletePackObject(vault, pack))) continue;
    packs.push(pack);
    bytes += liveSet.packs.get(pack)?.size ?? 0;
  }
  return { packs, bytes, left: Math.max(deadPacks(liveSet).length - maxPacks, 0) };
}

/** Completes the deletions that an interrupted prune has begun. */
export async function completePackDeletions(vault: PackDeletionVault): Promise<DeletedPacks> {
  const packs: string[] = [];
  let bytes = 0;
  for await (const { pack, state, size } of vault.catalog.allPacks()) {
    if (state !== "deleting" || !(await deletePackObject(vault, pack))) continue;
    packs.push(pack);
    bytes += size;
  }
  return { packs, bytes };
}

/**
 * Deletes the object, then the row of a pack that is `deleting`. The row stays until the object is gone. False if the pack is
 * not `deleting` any more: a rebuild has found it since, and has taken its frames or let a backup use its items.
 */
export async function deletePackObject(vault: PackDeletionVault, pack: string): Promise<boolean> {
  const [row] = await vault.catalog.packs([pack]);
  if (row?.state !== "deleting") return false;
  await vault.store.delete(vault.names.pack(pack));
  await vault.catalog.forgetPack(pack);
  return true;
}
