/**
 * Prune: deletes what no snapshot and no running upload needs. It runs beside backups, restores and repack, and no backup
 * waits for it.
 *
 * In: a vault with its catalog. Out: which packs were deleted, how many bytes that freed, and what was left alone. Steps:
 * 1. End uploads whose lease is over. Check that the catalog is not older than the store (`claim-session.ts`).
 * 2. Complete deletions of snapshots that were interrupted (`snapshot-changes.ts`).
 * 3. Give orphan manifests their rows (`orphan-manifests.ts`). Compare the catalog with the chain (`compare-chain.ts`).
 * 4. Mark: check that the catalog has every item that snapshots reach (`mark.ts`).
 * 5. Delete orphan packs (`orphan-packs.ts`).
 * 6. Complete interrupted deletions of packs, then condemn and delete dead packs (`delete-packs.ts`).
 * Steps 1, 3 and 4 throw `IncompleteCatalogError` where the catalog does not know everything in the store, and step 3 throws
 * `ChainMismatchError` where the catalog says something else than the chain. Then no pack has been deleted. A rebuild makes the catalog complete again. A snapshot that cannot be recovered must be dropped by name.
 *
 * The states of a pack. Each change is one compare-and-set in the catalog:
 *   live → condemned      the pack is dead, no upload pins it, and nothing was committed since the marking
 *   condemned → live      an upload needs the pack: `acquire` pins it
 *   condemned → deleting  it is still condemned and not pinned; its frames and dead items leave the catalog in this step
 *   deleting → no row     the object is deleted first, then the row
 * Prune can be interrupted at any point. A condemned pack is still whole and readable, and the next run decides again. A
 * deleting pack has nothing live, and the next run completes its deletion.
 */

import { beginClaimedUpload } from "../catalog/claim-session.ts";
import { hex } from "../format/bytes.ts";
import type { Vault } from "../vault.ts";
import { assertChainMatches } from "./compare-chain.ts";
import { completePackDeletions, deleteDeadPacks } from "./delete-packs.ts";
import { markVault } from "./mark.ts";
import type { OrphanManifestReport } from "./orphan-manifests.ts";
import { registerOrphanManifests } from "./orphan-manifests.ts";
import type { OrphanPackReport } from "./orphan-packs.ts";
import { deleteOrphanPacks } from "./orphan-packs.ts";
import { completeSnapshotDeletion } from "./snapshot-changes.ts";

/** The upload ends at once. The lease counts only if the process dies in between. */
const claimLeaseMs = 10 * 60_000;

export interface PruneReport extends OrphanPackReport, OrphanManifestReport {
  readonly deletedPacks: readonly string[];
  readonly freedBytes: number;
}

export interface PruneOptions {
  /** Ids of snapshots without a row whose manifest cannot be used. Prune deletes these manifests and does not stop. */
  readonly dropSnapshots?: readonly string[] | undefined;
}

/** Prunes once. Throws `IncompleteCatalogError` before any pack is deleted. */
export async function prune(vault: Vault, { dropSnapshots = [] }: PruneOptions = {}): Promise<PruneReport> {
  const { catalog, ctx } = vault;
  await catalog.expireUploads(ctx.now());
  await claimSession(vault);
  for (const { id, status } of await catalog.snapshots())
    if (status === "deleting") await completeSnapshotDeletion(vault, id);
  const manifests = await registerOrphanManifests(vault, dropSnapshots);
  await assertChainMatches(vault, dropSnapshots);
  await markVault(vault);
  const orphans = await deleteOrphanPacks(vault);
  const completed = await completePackDeletions(vault);
  const deleted = await deleteDeadPacks(vault);
  return {
    deletedPacks: [...completed.packs, ...deleted.packs],
    freedBytes: completed.bytes + deleted.bytes,
    ...orphans,
    ...manifests,
  };
}

/**
 * Claims a session number in the store. This finds a catalog that is older than the store, also where a listing lags: a
 * conditional write does not. An older catalog also finds this claim later, and with it that packs were deleted.
 */
async function claimSession(vault: Vault): Promise<void> {
  const upload = `prune ${hex(vault.ctx.random(8))}`;
  const leaseUntil = vault.ctx.now() + claimLeaseMs;
  await beginClaimedUpload(vault, { upload, owner: "", leaseUntil, base: null });
  await vault.catalog.endUpload(upload);
}
