/**
 * Orphan manifests: manifests in the store without a snapshot row in the catalog. A crash between the two steps of a
 * commit leaves one; so does a catalog that is older than the store.
 *
 * A complete orphan of a session of this catalog gets its row, like the commit that was interrupted. An orphan that cannot
 * be read, or that reaches items which the catalog does not have, may be a whole snapshot: its content has no row and would
 * look dead. So prune and rewriting stop here with `IncompleteCatalogError`, unless the caller names the snapshot as one
 * to drop. Then its manifest is deleted.
 */

import { CatalogError } from "../catalog/catalog.ts";
import { beginClaimedUpload, IncompleteCatalogError } from "../catalog/claim-session.ts";
import { framesNeededBy } from "../catalog/rules.ts";
import { Bitmap } from "../format/bitmap.ts";
import { FormatError, hex, sameBytes } from "../format/bytes.ts";
import type { Manifest } from "../format/manifest.ts";
import { decodeChange, openDetails, openManifest } from "../format/manifest.ts";
import { lastPart } from "../format/object-names.ts";
import type { WriterRegistry } from "../format/writer-registration.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { Vault } from "../vault.ts";
import { readWriters } from "../vault.ts";
import { isIssuedSession, isRunningSession } from "./orphan-packs.ts";
import { applyStoredChanges, completeSnapshotDeletion } from "./snapshot-changes.ts";

/** Only rows are read and written. A run that takes longer than this has died. */
const registrationLeaseMs = 10 * 60_000;

export interface OrphanManifestReport {
  /** Snapshots that got their row. */
  readonly adoptedSnapshots: readonly string[];
  /** Dropped snapshots whose manifest was deleted. */
  readonly removedManifests: readonly string[];
}

/** Gives every orphan manifest its row. Throws `IncompleteCatalogError` if one is left that is not in `drop`. */
export async function registerOrphanManifests(
  vault: Vault,
  { writers, drop = [] }: { readonly writers?: WriterRegistry; readonly drop?: readonly string[] } = {},
): Promise<OrphanManifestReport> {
  const registry = writers ?? (await readWriters(vault));
  const adoptedSnapshots: string[] = [];
  const removedManifests: string[] = [];
  const unresolved: string[] = [];
  for (const snapshot of await listOrphans(vault)) {
    const { result, reason } = await registerOrphan(vault, registry, snapshot);
    if (result === "registered") adoptedSnapshots.push(snapshot);
    else if (result === "unusable" && drop.includes(snapshot)) removedManifests.push(snapshot);
    else if (result === "unusable") unresolved.push(`${vault.names.manifest(snapshot)}: ${reason}`);
  }
  if (unresolved.length > 0)
    throw new IncompleteCatalogError(
      `the store has snapshots that the catalog does not have: rebuild it, or give them up by name\n${unresolved.join("\n")}`,
    );
  for (const snapshot of removedManifests) await vault.store.delete(vault.names.manifest(snapshot));
  return { adoptedSnapshots, removedManifests };
}

async function listOrphans(vault: Vault): Promise<string[]> {
  const rows = new Set((await vault.catalog.snapshots()).map(({ id }) => id));
  const orphans: string[] = [];
  for await (const { name } of vault.store.list(vault.names.snapshots)) {
    const snapshot = name.slice(vault.names.snapshots.length).split("/")[0] ?? "";
    if (lastPart(name) === "manifest" && !rows.has(snapshot)) orphans.push(snapshot);
  }
  return orphans;
}

/** `none`: there is nothing to do. `unusable`: the manifest stays without a row, with the reason. */
interface RegistrationResult {
  readonly result: "registered" | "none" | "unusable";
  readonly reason?: string;
}

async function registerOrphan(vault: Vault, writers: WriterRegistry, snapshot: string): Promise<RegistrationResult> {
  const expected = { snapshot, vaultId: vault.keys.vaultId };
  let manifest: Manifest;
  try {
    const bytes = await vault.store.get(vault.names.manifest(snapshot));
    manifest = openManifest(bytes, expected, writers, vault.keys.authorityPublicKey);
  } catch (error) {
    // Deleted since it was listed.
    if (isObjectStoreError(error, "not_found")) return { result: "none" };
    if (error instanceof FormatError) return { result: "unusable", reason: error.message };
    throw error;
  }
  if (await isRunningSession(vault, manifest.header)) return { result: "none" };
  // Committed since it was listed.
  if ((await vault.catalog.snapshots()).some(({ id }) => id === snapshot)) return { result: "none" };
  if (await hasTombstone(vault, snapshot)) {
    // A deletion was interrupted before its last step.
    await vault.store.delete(vault.names.manifest(snapshot));
    return { result: "none" };
  }
  const { session } = manifest.header;
  if (!(await isIssuedSession(vault, manifest.header)))
    return { result: "unusable", reason: `of session ${session}, which this catalog did not give out` };
  if (!(await addSnapshotRow(vault, manifest)))
    return { result: "unusable", reason: "it reaches items that the catalog does not have" };
  // The snapshot may have been deleted meanwhile. The tombstone is written before the row is deleted, so it decides.
  if (await hasTombstone(vault, snapshot)) await completeSnapshotDeletion(vault, snapshot);
  else await applyStoredChanges(vault, snapshot);
  return { result: "registered" };
}

/** Whether the snapshot has a tombstone that the authority signed. A forged or damaged one does not count. */
async function hasTombstone(vault: Vault, snapshot: string): Promise<boolean> {
  try {
    const bytes = await vault.store.get(vault.names.tombstone(snapshot));
    const expected = { snapshot, vaultId: vault.keys.vaultId };
    return decodeChange(bytes, expected, vault.keys.authorityPublicKey).kind === "deleted";
  } catch (error) {
    if (error instanceof FormatError || isObjectStoreError(error, "not_found")) return false;
    throw error;
  }
}

/** Adds the row like an upload does: pins every frame first, then commits. False where something is not in the catalog. */
async function addSnapshotRow(vault: Vault, manifest: Manifest): Promise<boolean> {
  const { catalog, ctx } = vault;
  const items = (await catalog.itemsByOrdinal([...Bitmap.decode(manifest.row.reach)])).filter((item) => item !== null);
  const { rootOrdinal, rootId } = manifest.row;
  if (!items.some(({ ordinal, id }) => ordinal === rootOrdinal && sameBytes(id, rootId))) return false;
  const upload = `adopt ${manifest.row.id} ${hex(ctx.random(8))}`;
  await beginClaimedUpload(vault, { upload, owner: "", leaseUntil: ctx.now() + registrationLeaseMs, base: null });
  try {
    const frames = [...new Set(items.flatMap((item) => framesNeededBy(item)))];
    if (!(await catalog.acquireFrames(upload, frames)).every((pinned) => pinned)) return false;
    const { source } = openDetails(vault.keys.privateSeed, manifest);
    await catalog.commit(upload, ctx.now(), { ...manifest.row, source });
    return true;
  } catch (error) {
    if (error instanceof CatalogError && error.code === "not_closed") return false;
    // Another prune has added the row.
    if (error instanceof CatalogError && error.code === "conflict") return true;
    throw error;
  } finally {
    await catalog.endUpload(upload);
  }
}
