/**
 * Prune: deletes what no snapshot and no running upload needs. Backups, restores and repack may run at the same time, and
 * no backup waits for it.
 *
 * In: a vault with its catalog. Out: which packs were deleted, how many bytes that freed, and what was not deleted. Steps:
 * 1. End uploads whose lease is over. Check that the catalog is not older than the store (`claim-session.ts`).
 * 2. Complete deletions of snapshots that were interrupted (`snapshot-changes.ts`).
 * 3. Recover orphan manifests (`orphan-manifests.ts`). Compare the catalog with the chain (`compare-chain.ts`).
 * 4. Mark: check that the catalog has every item that snapshots reach (`mark.ts`).
 * 5. Delete orphan packs (`orphan-packs.ts`).
 * 6. Complete interrupted deletions of packs, then condemn dead packs, compare with the chain once more, and delete them
 *    (`delete-packs.ts`): a rebuild that ran meanwhile may have found a manifest unreadable.
 * Steps 1, 3 and 4 throw `IncompleteCatalogError` if the catalog does not know everything in the store. Step 3 throws
 * `ChainMismatchError` if the catalog differs from the chain. Then no pack has been deleted. A rebuild makes the catalog
 * complete again. A snapshot that cannot be recovered must be given up by its id.
 *
 * The states of a pack. Each change is one compare-and-set in the catalog:
 *   live → condemned      the pack is dead, no upload pins it, and the revision is that of the marking
 *   condemned → live      an upload needs the pack: `acquire` pins it
 *   condemned → deleting  it is still condemned and not pinned; its frames and dead items leave the catalog in this step
 *   deleting → no row     the object is deleted first, then the row
 * Prune can be interrupted at any point. A condemned pack is still readable, and the next prune marks again. A deleting
 * pack has nothing live, and the next prune completes its deletion.
 */

import { beginClaimedUpload } from "../catalog/claim-session.ts";
import { hex } from "../format/bytes.ts";
import type { Vault } from "../vault.ts";
import { assertChainMatches } from "./compare-chain.ts";
import type { DeletionBounds } from "./delete-packs.ts";
import { completePackDeletions, deleteDeadPacks } from "./delete-packs.ts";
import { markVault } from "./mark.ts";
import type { OrphanManifestReport } from "./orphan-manifests.ts";
import { recoverOrphanManifests } from "./orphan-manifests.ts";
import type { OrphanPackReport } from "./orphan-packs.ts";
import { deleteOrphanPacks } from "./orphan-packs.ts";
import { completeInterruptedDeletions } from "./snapshot-changes.ts";

/** The upload ends at once. The lease matters only if the process crashes in between. */
const claimLeaseMs = 10 * 60_000;

export interface PruneReport extends OrphanPackReport, OrphanManifestReport {
  /** Without orphan packs, which are in `orphanPacks`. */
  readonly deletedPacks: readonly string[];
  /** The bytes of `deletedPacks`. */
  readonly freedBytes: number;
  /** Dead packs that were left for the next run, because of `maxPacks`. */
  readonly leftPacks: number;
}

export interface PruneOptions extends DeletionBounds {
  /** Ids of snapshots without a row whose manifests cannot be used. Prune deletes these manifests and does not stop. */
  readonly giveUp?: readonly string[] | undefined;
}

/** Prunes once. Throws `IncompleteCatalogError` before any pack is deleted. */
export async function prune(vault: Vault, { giveUp = [], ...bounds }: PruneOptions = {}): Promise<PruneReport> {
  const { catalog, ctx } = vault;
  await catalog.expireUploads(ctx.now());
  await claimSession(vault);
  await completeInterruptedDeletions(vault);
  const manifests = await recoverOrphanManifests(vault, giveUp);
  await assertChainMatches(vault, giveUp);
  await markVault(vault);
  const orphans = await deleteOrphanPacks(vault);
  const completed = await completePackDeletions(vault);
  const deleted = await deleteDeadPacks(vault, () => assertChainMatches(vault, giveUp), bounds);
  return {
    deletedPacks: [...completed.packs, ...deleted.packs],
    freedBytes: completed.bytes + deleted.bytes,
    leftPacks: deleted.left,
    ...orphans,
    ...manifests,
  };
}

/**
 * Claims a session number in the store. The claim is a conditional write, so it finds a catalog that is older than the
 * store even if the store's listing is not up to date. A copy of the catalog that is used later finds this claim, and so
 * learns that packs were deleted.
 */
async function claimSession(vault: Vault): Promise<void> {
  const upload = `prune ${hex(vault.ctx.random(8))}`;
  const leaseUntil = vault.ctx.now() + claimLeaseMs;
  await beginClaimedUpload(vault, { upload, owner: "", leaseUntil, base: null });
  await vault.catalog.endUpload(upload);
}
