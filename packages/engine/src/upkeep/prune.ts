/**
 * Collection: gives back what no snapshot and no upload needs. It never makes a backup wait.
 *
 * States of a pack, each step one compare-and-swap in the catalog:
 *   live → condemned      nobody pins it, nothing marks it, and nothing was committed since the marking
 *   condemned → live      an upload came to need it (`acquire` does this and pins it)
 *   condemned → deleting  still condemned and unpinned; its frames and dead items leave the catalog in the same step
 *   deleting → gone       the object is deleted, then the row; a crash in between is finished by the next run
 *
 * Before anything is deleted the catalog must know everything that the store has. Collection does nothing, and says why,
 * while one of these holds:
 * - the store has sessions that the catalog did not give out (an older catalog, or a new one): see `claims.ts`;
 * - a manifest without a row does not read, or is of a session that the catalog does not remember: its snapshot may be
 *   whole, and everything that no row reaches may be its;
 * - a snapshot reaches items that the catalog does not have.
 * Rebuild ends the first two where the store is sound; a snapshot that cannot be brought back is given up by name.
 *
 * Objects that the catalog never knew: a pack is deleted only where the catalog remembers giving out that very session,
 * number and nonce, and seeing it end; every other one is left alone and named. A complete manifest without a row, of a
 * session that ended between the two, is adopted as `recovered`.
 */

import { CatalogError } from "../catalog/catalog.ts";
import { beginClaimedUpload, IncompleteCatalogError } from "../catalog/claim-session.ts";
import { framesNeededBy } from "../catalog/rules.ts";
import { Bitmap } from "../format/bitmap.ts";
import { FormatError, hex, sameBytes } from "../format/bytes.ts";
import type { Manifest } from "../format/manifest.ts";
import { decodeChange, openDetails, openManifest } from "../format/manifest.ts";
import { lastPart } from "../format/object-names.ts";
import type { PackTable } from "../format/pack.ts";
import { readPackTable } from "../format/pack.ts";
import type { SessionHeader } from "../format/session-header.ts";
import type { WriterRegistry } from "../format/writer-registration.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { Vault } from "../vault.ts";
import { readWriters } from "../vault.ts";
import type { Liveness } from "./liveness.ts";
import { deadPacks, liveness, markLive } from "./liveness.ts";
import { caughtUp, finishDeletion } from "./snapshot-changes.ts";

/** Adopting reads rows only; a run that takes longer than this has died. */
const adoptionLeaseMs = 10 * 60_000;

/** Markings tried while backups keep committing; each takes seconds, so this many in a row means "come back later". */
const maxMarkings = 8;

export interface PruneReport {
  readonly deletedPacks: readonly string[];
  readonly freedBytes: number;
  readonly orphanPacks: readonly string[];
  readonly adoptedSnapshots: readonly string[];
  readonly removedManifests: readonly string[];
  /** Objects that are not ours to judge: left alone. */
  readonly foreign: readonly { readonly name: string; readonly reason: string }[];
}

/** What sweeping needs of a vault: no key. */
export type PruneVault = Pick<Vault, "catalog" | "store" | "names">;

export interface PruneOptions {
  /** Snapshots given up by name: their manifests, which do not read or are not complete, no longer stop collection. */
  readonly givenUp?: readonly string[] | undefined;
}

/** Collects once. Safe beside backups, restores and relaying. Rejects with `IncompleteCatalogError` before any deletion. */
export async function prune(vault: Vault, { givenUp = [] }: PruneOptions = {}): Promise<PruneReport> {
  const { catalog, ctx } = vault;
  await catalog.expireUploads(ctx.now());
  await proveNewest(vault);
  for (const { id, status } of await catalog.snapshots()) if (status === "deleting") await finishDeletion(vault, id);
  const writers = await readWriters(vault);
  const manifests = await settleManifests(vault, writers, new Set(givenUp));
  await markVault(vault);
  const orphans = { ...(await deleteOrphans(vault, writers)), ...manifests };
  const finished = await finishDeletions(vault);
  const swept = await deleteDeadPacks(vault);
  return {
    deletedPacks: [...finished.packs, ...swept.packs],
    freedBytes: finished.bytes + swept.bytes,
    ...orphans,
  };
}

/** Rejects with `IncompleteCatalogError` where the store has snapshots that the catalog does not know. */
export async function assertComplete(vault: Vault): Promise<void> {
  await settleManifests(vault, await readWriters(vault), new Set());
}

/** Condemns and deletes the packs in which nothing lives. */
export async function deleteDeadPacks(vault: PruneVault): Promise<{ packs: string[]; bytes: number }> {
  const packs: string[] = [];
  let bytes = 0;
  const { state, revision, condemned } = await condemnBy(vault, deadPacks);
  for (const pack of condemned) {
    if (!(await vault.catalog.beginDelete(pack, revision, state.deadItems.get(pack) ?? []))) continue;
    await vault.store.delete(vault.names.pack(pack));
    await vault.catalog.forgetPack(pack);
    packs.push(pack);
    bytes += state.packs.get(pack)?.size ?? 0;
  }
  return { packs, bytes };
}

/**
 * Claims a session number of its own: a listing may lag, a conditional write does not, so a catalog that is older than
 * the store is found out here even where the listing does not show it. The claim also tells an older catalog, later,
 * that things were deleted.
 */
async function proveNewest(vault: Vault): Promise<void> {
  const upload = `prune ${hex(vault.ctx.random(8))}`;
  const leaseUntil = vault.ctx.now() + adoptionLeaseMs;
  await beginClaimedUpload(vault, { upload, owner: "", leaseUntil, base: null });
  await vault.catalog.endUpload(upload);
}

/**
 * What lives now, and the revision that this holds for. Rejects with `IncompleteCatalogError` where something that lives
 * is unknown to the catalog: what it rests on would look dead.
 */
export async function markVault(vault: Pick<Vault, "catalog">): Promise<{ state: Liveness; revision: number }> {
  const { catalog } = vault;
  for (let i = 0; i < maxMarkings; i++) {
    const roots = await catalog.roots();
    const packs = await catalog.packs();
    const live = markLive(roots.reach);
    const state = await liveness({ live, items: catalog.allItems(), frames: catalog.allFrames(), packs });
    if (state.unknown === 0) return { state, revision: roots.revision };
    // Something may have been deleted and swept since the roots were read: only what is still reached counts.
    const now = markLive((await catalog.roots()).reach);
    if (now.minus(live).size > 0 || live.minus(now).size > 0) continue;
    throw new IncompleteCatalogError(
      `snapshots reach ${state.unknown} items that the catalog does not have: rebuild it, or delete the snapshots that verify names`,
    );
  }
  throw new IncompleteCatalogError("snapshots come and go faster than they are marked: prune later");
}

export interface CondemnedPacks {
  readonly state: Liveness;
  readonly revision: number;
  readonly condemned: readonly string[];
}

/** Marks, chooses and condemns until nothing was committed in between. */
export async function condemnBy(
  vault: Pick<Vault, "catalog">,
  choose: (state: Liveness) => readonly string[],
): Promise<CondemnedPacks> {
  for (let i = 1; ; i++) {
    const { state, revision } = await markVault(vault);
    const { condemned, stale } = await vault.catalog.condemn(choose(state), revision);
    if (!stale || i === maxMarkings) return { state, revision, condemned };
  }
}

/** Ends what an interrupted run began: the object first, then the row. */
async function finishDeletions(vault: Vault): Promise<{ packs: string[]; bytes: number }> {
  const packs: string[] = [];
  let bytes = 0;
  for (const { pack, state, size } of await vault.catalog.packs()) {
    if (state !== "deleting") continue;
    await vault.store.delete(vault.names.pack(pack));
    await vault.catalog.forgetPack(pack);
    packs.push(pack);
    bytes += size;
  }
  return { packs, bytes };
}

type OrphanReport = Pick<PruneReport, "orphanPacks" | "foreign">;
type ManifestReport = Pick<PruneReport, "adoptedSnapshots" | "removedManifests">;

async function deleteOrphans(vault: Vault, writers: WriterRegistry): Promise<OrphanReport> {
  const foreign: { name: string; reason: string }[] = [];
  const orphanPacks: string[] = [];
  const known = new Set((await vault.catalog.packs()).map(({ pack }) => pack));
  for await (const { name, size } of vault.store.list(vault.names.packs)) {
    const pack = lastPart(name);
    if (known.has(pack) || (await isKnown(vault, pack))) continue;
    const table = await orphanTable(vault, writers, pack, size, foreign);
    if (table === null) continue;
    if (!(await isOurs(vault, table.header)))
      foreign.push({ name, reason: `of session ${table.header.session}, which this catalog did not give out` });
    // Registered between the listing and now? Then it is no orphan at all.
    else if (!(await isLive(vault, table.header)) && !(await isKnown(vault, pack))) {
      await vault.store.delete(name);
      orphanPacks.push(pack);
    }
  }
  return { orphanPacks, foreign };
}

async function isKnown(vault: Vault, pack: string): Promise<boolean> {
  return (await vault.catalog.packs()).some((row) => row.pack === pack);
}

async function orphanTable(
  vault: Vault,
  writers: WriterRegistry,
  pack: string,
  size: number,
  foreign: { name: string; reason: string }[],
): Promise<PackTable | null> {
  try {
    const read = (offset: number, length: number) =>
      vault.store.get(vault.names.pack(pack), { range: { offset, length } });
    return await readPackTable(pack, size, read, { vaultId: vault.keys.vaultId, writers });
  } catch (error) {
    if (error instanceof FormatError) foreign.push({ name: vault.names.pack(pack), reason: error.message });
    else if (!isObjectStoreError(error, "not_found")) throw error;
    return null;
  }
}

/** Whether this catalog remembers giving out that very session. */
async function isOurs(vault: Vault, { session, nonce }: SessionHeader): Promise<boolean> {
  return (await vault.catalog.issuedNonce(session)) === nonce;
}

async function isLive(vault: Vault, { session }: SessionHeader): Promise<boolean> {
  return (await vault.catalog.sessions()).live.includes(session);
}

/** Adopts every manifest that lacks a row; rejects where one stays open. Deletes only what was given up by name. */
async function settleManifests(
  vault: Vault,
  writers: WriterRegistry,
  givenUp: ReadonlySet<string>,
): Promise<ManifestReport> {
  const adoptedSnapshots: string[] = [];
  const removedManifests: string[] = [];
  const open: string[] = [];
  for (const snapshot of await manifestsWithoutRow(vault)) {
    const answer = await settleManifest(vault, writers, snapshot);
    if (answer === "adopted") adoptedSnapshots.push(snapshot);
    else if (answer !== "settled" && givenUp.has(snapshot)) removedManifests.push(snapshot);
    else if (answer !== "settled") open.push(`${vault.names.manifest(snapshot)}: ${answer}`);
  }
  if (open.length > 0)
    throw new IncompleteCatalogError(
      `the store has snapshots that the catalog does not: rebuild it, or give them up by name\n${open.join("\n")}`,
    );
  for (const snapshot of removedManifests) await vault.store.delete(vault.names.manifest(snapshot));
  return { adoptedSnapshots, removedManifests };
}

/** `settled`: nothing to do; `adopted`: has a row now; anything else says why it stays open. */
async function settleManifest(vault: Vault, writers: WriterRegistry, snapshot: string): Promise<string> {
  const expected = { snapshot, vaultId: vault.keys.vaultId };
  let manifest: Manifest;
  try {
    const bytes = await vault.store.get(vault.names.manifest(snapshot));
    manifest = openManifest(bytes, expected, writers, vault.keys.authorityPublicKey);
  } catch (error) {
    // Deleted since it was listed.
    if (isObjectStoreError(error, "not_found")) return "settled";
    if (error instanceof FormatError) return error.message;
    throw error;
  }
  if (await isLive(vault, manifest.header)) return "settled";
  // Committed or deleted between the first look and now? Then it is no orphan at all.
  if ((await vault.catalog.snapshots()).some(({ id }) => id === snapshot)) return "settled";
  if (await isDeleted(vault, snapshot)) {
    // A deletion that died before its last step.
    await vault.store.delete(vault.names.manifest(snapshot));
    return "settled";
  }
  const { session } = manifest.header;
  if (!(await isOurs(vault, manifest.header))) return `of session ${session}, which this catalog did not give out`;
  if (!(await adopt(vault, manifest))) return "it reaches items that the catalog does not have";
  // Deleted while it was adopted: the tombstone, which is there before the row goes, has the last word.
  if (await isDeleted(vault, snapshot)) await finishDeletion(vault, snapshot);
  else await caughtUp(vault, snapshot);
  return "adopted";
}

/** Whether the authority's own tombstone is there. A forged or damaged one deletes nothing. */
async function isDeleted(vault: Vault, snapshot: string): Promise<boolean> {
  try {
    const bytes = await vault.store.get(vault.names.tombstone(snapshot));
    const expected = { snapshot, vaultId: vault.keys.vaultId };
    return decodeChange(bytes, expected, vault.keys.authorityPublicKey).kind === "deleted";
  } catch (error) {
    if (error instanceof FormatError || isObjectStoreError(error, "not_found")) return false;
    throw error;
  }
}

async function manifestsWithoutRow(vault: Vault): Promise<string[]> {
  const rows = new Set((await vault.catalog.snapshots()).map(({ id }) => id));
  const found: string[] = [];
  for await (const { name } of vault.store.list(vault.names.snapshots)) {
    const snapshot = name.slice(vault.names.snapshots.length).split("/")[0] ?? "";
    if (lastPart(name) === "manifest" && !rows.has(snapshot)) found.push(snapshot);
  }
  return found;
}

/** Gives a complete manifest its row, like the upload that was about to: pins first, then the commit. */
async function adopt(vault: Vault, manifest: Manifest): Promise<boolean> {
  const { catalog, ctx } = vault;
  const items = (await catalog.itemsByOrdinal([...Bitmap.decode(manifest.row.reach)])).filter((item) => item !== null);
  const { rootOrdinal, rootId } = manifest.row;
  if (!items.some(({ ordinal, id }) => ordinal === rootOrdinal && sameBytes(id, rootId))) return false;
  const upload = `adopt ${manifest.row.id} ${hex(ctx.random(8))}`;
  await beginClaimedUpload(vault, { upload, owner: "", leaseUntil: ctx.now() + adoptionLeaseMs, base: null });
  try {
    const frames = [...new Set(items.flatMap((item) => framesNeededBy(item)))];
    if (!(await catalog.acquireFrames(upload, frames)).every((pinned) => pinned)) return false;
    const { source } = openDetails(vault.keys.privateSeed, manifest);
    await catalog.commit(upload, ctx.now(), { ...manifest.row, source });
    return true;
  } catch (error) {
    if (error instanceof CatalogError && error.code === "not_closed") return false;
    // Another collection was faster.
    if (error instanceof CatalogError && error.code === "conflict") return true;
    throw error;
  } finally {
    await catalog.endUpload(upload);
  }
}
