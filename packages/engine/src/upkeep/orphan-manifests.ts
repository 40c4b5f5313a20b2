/**
 * Orphan manifests: manifests in the store without a snapshot row in the catalog. A crash between the two steps of a
 * commit leaves one; so does a catalog that is older than the store.
 *
 * A complete orphan of a session of this catalog is *recovered*: its row is added, which completes the interrupted commit.
 * Other orphans cannot be read, or reach items that the catalog does not have. Such an orphan may be a whole snapshot whose
 * content has no rows, so prune would take that content for dead. Therefore prune and repack stop here with
 * `IncompleteCatalogError`, unless the caller gives the snapshot up. Then its manifest is deleted.
 */

import { allSnapshots } from "../catalog/all-snapshots.ts";
import type { SnapshotRow } from "../catalog/catalog.ts";
import { CatalogError } from "../catalog/catalog.ts";
import { assertNotRevoked, beginClaimedUpload, IncompleteCatalogError } from "../catalog/claim-session.ts";
import { appendToChain, applyNewRecords, chainWriter } from "../catalog/vault-chain.ts";
import { Bitmap } from "../format/bitmap.ts";
import { FormatError, hex, sameBytes } from "../format/bytes.ts";
import { sha256 } from "../format/hash.ts";
import type { Manifest } from "../format/manifest.ts";
import { openDetails, openManifest } from "../format/manifest.ts";
import { lastPart } from "../format/object-names.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { Vault } from "../vault.ts";
import { assertKnownKinds, isRetained, recordGivenUp } from "./compare-chain.ts";
import { isIssuedSession, isRunningSession } from "./orphan-packs.ts";
import { completeSnapshotDeletion, isDeletedInChain } from "./snapshot-changes.ts";

/** Only rows are read and written. A process that takes longer than this has crashed. */
const rowLeaseMs = 10 * 60_000;

export interface OrphanManifestReport {
  /** Snapshots whose row was added. */
  readonly recoveredSnapshots: readonly string[];
  /** Snapshots that were given up: their manifests were deleted. */
  readonly removedManifests: readonly string[];
}

/** Recovers every orphan manifest. Throws `IncompleteCatalogError` if one is left that is not in `giveUp`. */
export async function recoverOrphanManifests(
  vault: Vault,
  giveUp: readonly string[] = [],
): Promise<OrphanManifestReport> {
  const recoveredSnapshots: string[] = [];
  const removedManifests: string[] = [];
  const unresolved: string[] = [];
  for (const snapshot of await listOrphans(vault)) {
    const { result, reason } = await recoverOrphan(vault, snapshot);
    if (result === "recovered") recoveredSnapshots.push(snapshot);
    else if (result === "unusable" && giveUp.includes(snapshot)) removedManifests.push(snapshot);
    else if (result === "unusable") unresolved.push(`${vault.names.manifest(snapshot)}: ${reason}`);
  }
  if (unresolved.length > 0)
    throw new IncompleteCatalogError(
      `the store has snapshots that the catalog does not have: rebuild it, or give them up by name\n${unresolved.join("\n")}`,
    );
  for (const snapshot of removedManifests) await deleteGivenUp(vault, snapshot);
  return { recoveredSnapshots, removedManifests };
}

/** The chain gets a record of the deletion first, so that the snapshot does not count as hidden. */
async function deleteGivenUp(vault: Vault, snapshot: string): Promise<void> {
  const { snapshots, unknown } = await vault.chain.read();
  assertKnownKinds(unknown);
  const known = snapshots.get(snapshot);
  if (known?.deleted === false && isRetained(known.retention, vault.ctx.now()))
    throw new CatalogError("retained", `${snapshot} is held or locked`);
  if (known?.deleted === false) await recordGivenUp(vault, snapshot);
  await vault.store.delete(vault.names.manifest(snapshot));
}

async function listOrphans(vault: Vault): Promise<string[]> {
  const rows = new Set<string>();
  for await (const { id } of allSnapshots(vault.catalog)) rows.add(id);
  const orphans: string[] = [];
  for await (const { name } of vault.store.list(vault.names.snapshots)) {
    const snapshot = lastPart(name);
    if (!rows.has(snapshot)) orphans.push(snapshot);
  }
  return orphans;
}

/** `none`: there is nothing to do. `unusable`: the manifest stays without a row, with the reason. */
interface RowResult {
  readonly result: "recovered" | "none" | "unusable";
  readonly reason?: string;
}

async function recoverOrphan(vault: Vault, snapshot: string): Promise<RowResult> {
  const expected = { snapshot, vaultId: vault.keys.vaultId };
  let manifest: Manifest;
  let manifestHash: Uint8Array;
  try {
    const bytes = await vault.store.get(vault.names.manifest(snapshot));
    manifest = openManifest(bytes, expected, vault.keys.authorityPublicKey);
    manifestHash = sha256(bytes);
  } catch (error) {
    // Deleted since it was listed.
    if (isObjectStoreError(error, "not_found")) return { result: "none" };
    if (error instanceof FormatError) return { result: "unusable", reason: error.message };
    throw error;
  }
  if (await isRunningSession(vault, manifest.header)) return { result: "none" };
  // Committed since it was listed.
  if ((await vault.catalog.snapshot(snapshot)) !== null) return { result: "none" };
  const known = (await vault.chain.read()).snapshots.get(snapshot);
  if (known?.deleted === true) {
    // A deletion was interrupted before its last step.
    await vault.store.delete(vault.names.manifest(snapshot));
    return { result: "none" };
  }
  if (known !== undefined && !sameBytes(known.manifestHash, manifestHash))
    return { result: "unusable", reason: "another manifest than the chain has" };
  const { session } = manifest.header;
  if (!(await isIssuedSession(vault, manifest.header)))
    return { result: "unusable", reason: `of session ${session}, which this catalog did not issue` };
  const refusal = await addSnapshotRow(vault, manifest, manifestHash);
  if (refusal !== null) return { result: "unusable", reason: refusal };
  // The snapshot may have been deleted meanwhile. The record is written before the row is deleted, so it decides.
  if (await isDeletedInChain(vault, snapshot)) await completeSnapshotDeletion(vault, snapshot);
  return { result: "recovered" };
}

/** Items that are pinned in one step of the catalog. */
const ordinalsPerCall = 1000;

const notComplete = "it reaches items that the catalog does not have";

/** Adds the row like an upload does: acquires every item first, then commits. Returns why it is refused, or null. */
async function addSnapshotRow(vault: Vault, manifest: Manifest, manifestHash: Uint8Array): Promise<string | null> {
  const { catalog, ctx } = vault;
  const ordinals = [...Bitmap.decode(manifest.row.reach)];
  const { rootOrdinal, rootId } = manifest.row;
  const [root = null] = await catalog.itemsByOrdinal([rootOrdinal]);
  if (root === null || !ordinals.includes(rootOrdinal) || !sameBytes(root.id, rootId)) return notComplete;
  const upload = `recover ${manifest.row.id} ${hex(ctx.random(8))}`;
  await beginClaimedUpload(vault, { upload, owner: "", leaseUntil: ctx.now() + rowLeaseMs, base: null });
  try {
    for (let i = 0; i < ordinals.length; i += ordinalsPerCall)
      if ((await catalog.acquireOrdinals(upload, ordinals.slice(i, i + ordinalsPerCall))).includes(false))
        return notComplete;
    const { source } = openDetails(vault.keys, manifest);
    const chained = await chainedRetention(vault, manifest, manifestHash);
    await catalog.commit(upload, ctx.now(), { ...manifest.row, ...chained, source });
    return null;
  } catch (error) {
    if (error instanceof FormatError) return error.message;
    if (error instanceof CatalogError && error.code === "not_closed") return notComplete;
    // Another prune has added the row.
    if (error instanceof CatalogError && error.code === "conflict") return null;
    throw error;
  } finally {
    await catalog.endUpload(upload);
  }
}

/** The retention that the chain has of a snapshot. If the chain has no record of it, because of a crash, writes one. */
async function chainedRetention(
  vault: Vault,
  { row, header }: Manifest,
  manifestHash: Uint8Array,
): Promise<Pick<SnapshotRow, "retention" | "changes">> {
  const chain = chainWriter(vault, vault.authority);
  await applyNewRecords(chain);
  const known = (await vault.chain.read()).snapshots.get(row.id);
  if (known !== undefined) return { retention: known.retention, changes: known.sequence };
  const { id: snapshot, retention } = row;
  const changes = await appendToChain(chain, async () => {
    await assertNotRevoked(vault.catalog, header);
    return { kind: "completed", snapshot, manifestHash, retention };
  });
  return { retention, changes };
}
