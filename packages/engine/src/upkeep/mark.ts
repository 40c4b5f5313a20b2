/**
 * Marking and condemning: the steps that come before packs are deleted or rewritten.
 *
 * Marking reads the bitmaps of all snapshots and running uploads at one revision of the catalog and computes the live set.
 * Condemning sets chosen packs to `condemned`, if the revision is unchanged. Otherwise both are repeated.
 * A condemned pack is still readable. An upload that needs it makes it live again, and then it is not deleted.
 */

import { IncompleteCatalogError } from "../catalog/claim-session.ts";
import type { Vault } from "../vault.ts";
import type { LiveSet } from "./live-set.ts";
import { computeLiveSet, unionOfBitmaps } from "./live-set.ts";

/** How often marking is repeated while backups commit. One marking takes seconds: after so many, prune should run later. */
const maxMarkings = 8;

export interface Marking {
  readonly liveSet: LiveSet;
  /** The revision of the catalog from which the live set was computed. */
  readonly revision: number;
}

/**
 * Marks once. Throws `IncompleteCatalogError` if a snapshot reaches an item that the catalog does not have, or needs a slot
 * that the catalog's frames do not have.
 */
export async function markVault(vault: Pick<Vault, "catalog">): Promise<Marking> {
  const { catalog } = vault;
  for (let i = 0; i < maxMarkings; i++) {
    // Read first: if it is the same when packs are condemned, everything that was read in between was of this revision.
    const revision = await catalog.revision();
    const ordinals = await unionOfBitmaps(catalog.allReach());
    const liveSet = await computeLiveSet(catalog, ordinals);
    const { missingItems, incompleteFrames } = liveSet;
    if (missingItems === 0 && incompleteFrames === 0) return { liveSet, revision };
    // Frames have moved between the reading of items and of frames: mark again.
    if (missingItems === 0 && (await catalog.revision()) !== revision) continue;
    // A snapshot may have been deleted and pruned after its bitmap was read. Then the bitmaps have changed: mark again.
    const union = await unionOfBitmaps(catalog.allReach());
    if (union.minus(ordinals).size > 0 || ordinals.minus(union).size > 0) continue;
    const what = missingItems > 0 ? `reach ${missingItems} items` : `need blocks of ${incompleteFrames} frames`;
    throw new IncompleteCatalogError(
      `snapshots ${what} that the catalog does not have: rebuild it, or delete the snapshots that verify names`,
    );
  }
  throw new IncompleteCatalogError("snapshots change faster than they can be marked: prune later");
}

export interface CondemnedMarking extends Marking {
  readonly condemned: readonly string[];
}

/**
 * Marks, and condemns the packs that `choose` returns. Repeats both if the revision has changed in between. After
 * `maxMarkings` tries nothing is condemned.
 */
export async function markAndCondemn(
  vault: Pick<Vault, "catalog">,
  choose: (liveSet: LiveSet) => readonly string[],
): Promise<CondemnedMarking> {
  for (let i = 1; ; i++) {
    const { liveSet, revision } = await markVault(vault);
    const { condemned, revisionChanged } = await vault.catalog.condemn(choose(liveSet), revision);
    if (!revisionChanged || i === maxMarkings) return { liveSet, revision, condemned };
  }
}
