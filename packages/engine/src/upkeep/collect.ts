/**
 * Collection: gives back what no snapshot and no upload needs. It never makes a backup wait.
 *
 * States of a pack, each step one compare-and-swap in the index:
 *   live → condemned      nobody pins it, nothing marks it, and nothing was committed since the marking
 *   condemned → live      an upload came to need it (`acquire` does this and pins it)
 *   condemned → deleting  still condemned and unpinned; its frames and dead items leave the index in the same step
 *   deleting → gone       the object is deleted, then the row; a crash in between is finished by the next run
 *
 * Before anything is deleted the index must know everything that the store has. Collection does nothing, and says why,
 * while one of these holds:
 * - the store has sessions that the index did not give out (an older index, or a new one): see `claims.ts`;
 * - a manifest without a row does not read, or is of a session that the index does not remember: its snapshot may be
 *   whole, and everything that no row reaches may be its;
 * - a snapshot reaches items that the index does not have.
 * Rebuild ends the first two where the store is sound; a snapshot that cannot be brought back is given up by name.
 *
 * Objects that the index never knew: a pack is deleted only where the index remembers giving out that very session,
 * number and nonce, and seeing it end; every other one is left alone and named. A complete manifest without a row, of a
 * session that ended between the two, is adopted as `recovered`.
 */

import { Bitmap } from "../bitmap.ts";
import { FormatError, hex, sameBytes } from "../bytes.ts";
import { beginClaimed, IncompleteIndexError } from "../claims.ts";
import { IndexError } from "../index/port.ts";
import { restingOn } from "../index/rules.ts";
import type { SessionHeader } from "../keys/session.ts";
import type { WriterRegistry } from "../keys/writers.ts";
import type { Manifest } from "../manifest.ts";
import { decodeChange, openDetails, openManifest } from "../manifest.ts";
import { lastPart } from "../names.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { PackTable } from "../packs/pack.ts";
import { readPackTable } from "../packs/pack.ts";
import type { Vault } from "../vault.ts";
import { readWriters } from "../vault.ts";
import type { Liveness } from "./liveness.ts";
import { deadPacks, liveness, markLive } from "./liveness.ts";
import { caughtUp, finishDeletion } from "./snapshots.ts";

/** Adopting reads rows only; a run that takes longer than this has died. */
const adoptionLeaseMs = 10 * 60_000;

/** Markings tried while backups keep committing; each takes seconds, so this many in a row means "come back later". */
const maxMarkings = 8;

export interface CollectReport {
  readonly deletedPacks: readonly string[];
  readonly freedBytes: number;
  readonly orphanPacks: readonly string[];
  readonly adoptedSnapshots: readonly string[];
  readonly removedManifests: readonly string[];
  /** Objects that are not ours to judge: left alone. */
  readonly foreign: readonly { readonly name: string; readonly reason: string }[];
}

/** What sweeping needs of a vault: no key. */
export type Sweepable = Pick<Vault, "index" | "store" | "names">;

export interface CollectOptions {
  /** Snapshots given up by name: their manifests, which do not read or are not complete, no longer stop collection. */
  readonly givenUp?: readonly string[] | undefined;
}

/** Collects once. Safe beside backups, restores and relaying. Rejects with `IncompleteIndexError` before any deletion. */
export async function collect(vault: Vault, { givenUp = [] }: CollectOptions = {}): Promise<CollectReport> {
  const { index, ctx } = vault;
  await index.expireUploads(ctx.now());
  await proveNewest(vault);
  for (const { id, status } of await index.snapshots()) if (status === "deleting") await finishDeletion(vault, id);
  const writers = await readWriters(vault);
  const manifests = await settleManifests(vault, writers, new Set(givenUp));
  await markVault(vault);
  const orphans = { ...(await sweepOrphans(vault, writers)), ...manifests };
  const finished = await finishDeletions(vault);
  const swept = await sweepDead(vault);
  return {
    deletedPacks: [...finished.packs, ...swept.packs],
    freedBytes: finished.bytes + swept.bytes,
    ...orphans,
  };
}

/** Rejects with `IncompleteIndexError` where the store has snapshots that the index does not know. */
export async function assertComplete(vault: Vault): Promise<void> {
  await settleManifests(vault, await readWriters(vault), new Set());
}

/** Condemns and deletes the packs in which nothing lives. */
export async function sweepDead(vault: Sweepable): Promise<{ packs: string[]; bytes: number }> {
  const packs: string[] = [];
  let bytes = 0;
  const { state, generation, condemned } = await condemnBy(vault, deadPacks);
  for (const pack of condemned) {
    if (!(await vault.index.beginDelete(pack, generation, state.deadItems.get(pack) ?? []))) continue;
    await vault.store.delete(vault.names.pack(pack));
    await vault.index.forgetPack(pack);
    packs.push(pack);
    bytes += state.packs.get(pack)?.size ?? 0;
  }
  return { packs, bytes };
}

/**
 * Claims a session number of its own: a listing may lag, a conditional write does not, so an index that is older than
 * the store is found out here even where the listing does not show it. The claim also tells an older index, later,
 * that things were deleted.
 */
async function proveNewest(vault: Vault): Promise<void> {
  const upload = `collect ${hex(vault.ctx.random(8))}`;
  const leaseUntil = vault.ctx.now() + adoptionLeaseMs;
  await beginClaimed(vault, { upload, owner: "", leaseUntil, base: null });
  await vault.index.endUpload(upload);
}

/**
 * What lives now, and the generation that this holds for. Rejects with `IncompleteIndexError` where something that lives
 * is unknown to the index: what it rests on would look dead.
 */
export async function markVault(vault: Pick<Vault, "index">): Promise<{ state: Liveness; generation: number }> {
  const { index } = vault;
  for (let i = 0; i < maxMarkings; i++) {
    const roots = await index.roots();
    const packs = await index.packs();
    const live = markLive(roots.reach);
    const state = await liveness({ live, items: index.allItems(), frames: index.allFrames(), packs });
    if (state.unknown === 0) return { state, generation: roots.generation };
    // Something may have been deleted and swept since the roots were read: only what is still reached counts.
    const now = markLive((await index.roots()).reach);
    if (now.minus(live).size > 0 || live.minus(now).size > 0) continue;
    throw new IncompleteIndexError(
      `snapshots reach ${state.unknown} items that the index does not have: rebuild it, or delete the snapshots that verify names`,
    );
  }
  throw new IncompleteIndexError("snapshots come and go faster than they are marked: collect later");
}

export interface CondemnedPacks {
  readonly state: Liveness;
  readonly generation: number;
  readonly condemned: readonly string[];
}

/** Marks, chooses and condemns until nothing was committed in between. */
export async function condemnBy(
  vault: Pick<Vault, "index">,
  choose: (state: Liveness) => readonly string[],
): Promise<CondemnedPacks> {
  for (let i = 1; ; i++) {
    const { state, generation } = await markVault(vault);
    const { condemned, stale } = await vault.index.condemn(choose(state), generation);
    if (!stale || i === maxMarkings) return { state, generation, condemned };
  }
}

/** Ends what an interrupted run began: the object first, then the row. */
async function finishDeletions(vault: Vault): Promise<{ packs: string[]; bytes: number }> {
  const packs: string[] = [];
  let bytes = 0;
  for (const { pack, state, size } of await vault.index.packs()) {
    if (state !== "deleting") continue;
    await vault.store.delete(vault.names.pack(pack));
    await vault.index.forgetPack(pack);
    packs.push(pack);
    bytes += size;
  }
  return { packs, bytes };
}

type OrphanReport = Pick<CollectReport, "orphanPacks" | "foreign">;
type ManifestReport = Pick<CollectReport, "adoptedSnapshots" | "removedManifests">;

async function sweepOrphans(vault: Vault, writers: WriterRegistry): Promise<OrphanReport> {
  const foreign: { name: string; reason: string }[] = [];
  const orphanPacks: string[] = [];
  const known = new Set((await vault.index.packs()).map(({ pack }) => pack));
  for await (const { name, size } of vault.store.list(vault.names.packs)) {
    const pack = lastPart(name);
    if (known.has(pack) || (await isKnown(vault, pack))) continue;
    const table = await orphanTable(vault, writers, pack, size, foreign);
    if (table === null) continue;
    if (!(await isOurs(vault, table.header)))
      foreign.push({ name, reason: `of session ${table.header.session}, which this index did not give out` });
    // Registered between the listing and now? Then it is no orphan at all.
    else if (!(await isLive(vault, table.header)) && !(await isKnown(vault, pack))) {
      await vault.store.delete(name);
      orphanPacks.push(pack);
    }
  }
  return { orphanPacks, foreign };
}

async function isKnown(vault: Vault, pack: string): Promise<boolean> {
  return (await vault.index.packs()).some((row) => row.pack === pack);
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

/** Whether this index remembers giving out that very session. */
async function isOurs(vault: Vault, { session, nonce }: SessionHeader): Promise<boolean> {
  return (await vault.index.givenNonce(session)) === nonce;
}

async function isLive(vault: Vault, { session }: SessionHeader): Promise<boolean> {
  return (await vault.index.sessions()).live.includes(session);
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
    throw new IncompleteIndexError(
      `the store has snapshots that the index does not: rebuild it, or give them up by name\n${open.join("\n")}`,
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
  if ((await vault.index.snapshots()).some(({ id }) => id === snapshot)) return "settled";
  if (await isDeleted(vault, snapshot)) {
    // A deletion that died before its last step.
    await vault.store.delete(vault.names.manifest(snapshot));
    return "settled";
  }
  const { session } = manifest.header;
  if (!(await isOurs(vault, manifest.header))) return `of session ${session}, which this index did not give out`;
  if (!(await adopt(vault, manifest))) return "it reaches items that the index does not have";
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
  const rows = new Set((await vault.index.snapshots()).map(({ id }) => id));
  const found: string[] = [];
  for await (const { name } of vault.store.list(vault.names.snapshots)) {
    const snapshot = name.slice(vault.names.snapshots.length).split("/")[0] ?? "";
    if (lastPart(name) === "manifest" && !rows.has(snapshot)) found.push(snapshot);
  }
  return found;
}

/** Gives a complete manifest its row, like the upload that was about to: pins first, then the commit. */
async function adopt(vault: Vault, manifest: Manifest): Promise<boolean> {
  const { index, ctx } = vault;
  const items = (await index.itemsByOrdinal([...Bitmap.decode(manifest.row.reach)])).filter((item) => item !== null);
  const { rootOrdinal, rootId } = manifest.row;
  if (!items.some(({ ordinal, id }) => ordinal === rootOrdinal && sameBytes(id, rootId))) return false;
  const upload = `adopt ${manifest.row.id} ${hex(ctx.random(8))}`;
  await beginClaimed(vault, { upload, owner: "", leaseUntil: ctx.now() + adoptionLeaseMs, base: null });
  try {
    const frames = [...new Set(items.flatMap((item) => restingOn(item)))];
    if (!(await index.acquireFrames(upload, frames)).every((pinned) => pinned)) return false;
    const { source } = openDetails(vault.keys.privateSeed, manifest);
    await index.commit(upload, ctx.now(), { ...manifest.row, source });
    return true;
  } catch (error) {
    if (error instanceof IndexError && error.code === "not_closed") return false;
    // Another collection was faster.
    if (error instanceof IndexError && error.code === "conflict") return true;
    throw error;
  } finally {
    await index.endUpload(upload);
  }
}
