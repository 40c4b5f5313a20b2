/**
 * Rebuild: makes the catalog again from the object store and the master key. What the catalog held before is deleted.
 *
 * In: a store and the keys of its vault. Out: a new catalog, and a report of what was refused, lost or incomplete. Only
 * objects that the authority or a registered writer of this vault has signed, under the right name, are accepted. Steps:
 * 0. Read the chain (`catalog/vault-chain.ts`). Records that are missing or wrong are named.
 * 1. Read the claims, and header and footer of every pack (`rebuild-packs.ts`): sessions, frames and their locations.
 * 2. Read every manifest that the chain has not deleted (`rebuild-snapshots.ts`). Snapshots get the status `recovered` and the
 *    retention that the chain has. A snapshot of the chain without a valid manifest is *hidden*: the report names it. So is a snapshot
 *    with a valid manifest and without a record: it is *unconfirmed*.
 * 3. Choose a version of each frame: the one with most of what the snapshots need (`rebuild-versions.ts`).
 * 4. Clear the catalog, then register packs and frames.
 * 5. Read every metadata frame and register block lists, segments and nodes (`rebuild-items.ts`). A segment may have several
 *    records. The later one wins, unless more of the blocks that it needs are missing. A segment that needs dropped blocks is
 *    not known to any upload.
 * 6. Set the next ordinal and the next session number above everything that was found.
 *
 * A writer may record only frames and ordinals that are new, and no ordinals of others (`rebuild-ordinals.ts`). Only the authority may rewrite frames and replace records. A
 * frame whose block list is known and whose bytes are missing is registered as damaged, so that a backup can heal it.
 *
 * If the old catalog knows records after the end of the chain, the store is an older copy or has lost them. Without its newest
 * records a chain looks complete, so rebuild refuses: a new catalog would not know that a hold is missing, and would use the
 * places again. Rebuild works once the store has the records again; `recover` works without them.
 *
 * If rebuild is interrupted before step 4, the old catalog is unchanged. After it, the catalog is incomplete and rebuild
 * must run again. Prune deletes nothing meanwhile: it stops at a manifest without a row. The store is never changed. Of two
 * rebuilds at the same time the one that clears the catalog last goes on. The other is refused. So is one during which upkeep
 * has deleted a pack that it has read (docs/decisions/0148).
 */

import type { ChainFault } from "../catalog/vault-chain.ts";
import { ChainMismatchError, compareRecord, describeHead, VaultChain } from "../catalog/vault-chain.ts";
import { Bitmap } from "../format/bitmap.ts";
import type { ChainHead } from "../format/chain.ts";
import type { ReadableVault } from "../vault.ts";
import { identityOf } from "../vault.ts";
import { unionOfBitmaps } from "./live-set.ts";
import { ItemRegistration } from "./rebuild-items.ts";
import { ReservedOrdinals } from "./rebuild-ordinals.ts";
import { StoredPacks } from "./rebuild-packs.ts";
import type { RefusedObject } from "./rebuild-refusals.ts";
import { Refusals } from "./rebuild-refusals.ts";
import { KnownSessions } from "./rebuild-sessions.ts";
import { readSnapshots } from "./rebuild-snapshots.ts";
import { chooseVersions } from "./rebuild-versions.ts";

export interface RebuildReport {
  readonly packs: number;
  readonly items: number;
  readonly snapshots: readonly string[];
  /** Objects that were not accepted, and why. */
  readonly refused: readonly RefusedObject[];
  /** Frames that a block list in the metadata names and that no accepted pack has. */
  readonly lostFrames: readonly number[];
  /** Snapshots that reach items which were not found. */
  readonly incomplete: readonly string[];
  /**
   * Ordinals of segments that a snapshot reaches and that need blocks which no accepted pack has, or which upkeep has dropped.
   * Prune deletes nothing while there is one of the latter.
   */
  readonly incompleteSegments: readonly number[];
  /** Snapshots that the chain has and whose manifest is missing or refused. */
  readonly hidden: readonly string[];
  /** Snapshots with a valid manifest that the chain does not have. */
  readonly unconfirmed: readonly string[];
  /** Records of the chain that are missing or wrong. What came after them is not known. */
  readonly chainFaults: readonly ChainFault[];
  /** Objects under `chain/` that are no part of the chain: skipped by a recovery, or with a name of no record. */
  readonly chainIgnored: readonly ChainFault[];
}

/**
 * Ordinals left unused above the highest that was found. An upload that was running when the catalog was lost has reserved
 * ordinals, and its packs may still be written. This is far more than one upload reserves between two units.
 */
const ordinalGap = 2 ** 20;

/** Throws `ChainMismatchError` if the newest record that the old catalog knows is not in the store. */
async function assertInStore(vault: ReadableVault, known: ChainHead): Promise<void> {
  const comparison = await compareRecord(vault, known);
  if (comparison === "absent") throw new ChainMismatchError([describeHead(vault.names, known, comparison) ?? ""]);
}

type OnProgress = (progress: { readonly packs: number }) => void;

/** Rebuilds the catalog. */
export async function rebuild(vault: ReadableVault, onProgress?: OnProgress): Promise<RebuildReport> {
  return rebuildIfChainHas(await vault.catalog.chainHead(), vault, onProgress);
}

/** Rebuilds the catalog. Throws `ChainMismatchError` if the chain lacks the record `known`; a recovery requires none. */
export async function rebuildIfChainHas(
  known: ChainHead,
  vault: ReadableVault,
  onProgress: OnProgress = () => {},
): Promise<RebuildReport> {
  const refusals = new Refusals();
  const sessions = new KnownSessions(vault);
  const { state: chain, faults, ignored } = await new VaultChain({ ...vault, ...identityOf(vault) }).readAll();
  if (known.sequence > chain.head.sequence) await assertInStore(vault, known);
  const packs = new StoredPacks(vault, sessions, refusals);
  await sessions.readClaims(refusals);
  await packs.readTables(chain.revoked, onProgress);
  const items = new ItemRegistration(vault, packs, sessions, refusals);
  const { slots, lostFrames } = await items.readBlockLists();
  const { rows: snapshots, hidden, unconfirmed } = await readSnapshots(vault, chain, sessions, refusals);
  const live = await unionOfBitmaps(snapshots.map(({ reach }) => reach));
  const reserved = new ReservedOrdinals(chain.reserved, live.highest);
  await chooseVersions(packs, slots, live, reserved);
  const catalogId = await vault.catalog.clear(vault.ctx);
  await items.registerPacks(catalogId);
  await items.registerItems(reserved);
  await packs.assertStillStored();
  const nextOrdinal = Math.max(reserved.end, items.nextOrdinal) + ordinalGap;
  const numbers = { nextOrdinal, nextSession: sessions.next };
  const { head: chainHead, newestEpoch: epoch, revoked } = chain;
  await vault.catalog.addRebuilt({ catalogId, snapshots, ...numbers, chainHead, epoch, revoked });
  const incomplete = snapshots.filter(({ reach }) => [...Bitmap.decode(reach)].some((ordinal) => !items.has(ordinal)));
  return {
    packs: packs.tables.length,
    items: items.count,
    snapshots: snapshots.map(({ id }) => id),
    refused: refusals.list,
    lostFrames: [...lostFrames],
    incomplete: incomplete.map(({ id }) => id),
    incompleteSegments: [...live].filter((ordinal) => items.hasMissingBlocks(ordinal)),
    hidden,
    unconfirmed,
    chainFaults: faults,
    chainIgnored: ignored,
  };
}
