/**
 * Collection: gives back what no snapshot and no upload needs. It never makes a backup wait.
 *
 * States of a pack, each step one compare-and-swap in the index:
 *   live → condemned      nobody pins it, nothing marks it, and nothing was committed since the marking
 *   condemned → live      an upload came to need it (`acquire` does this and pins it)
 *   condemned → deleting  still condemned and unpinned; its frames and dead items leave the index in the same step
 *   deleting → gone       the object is deleted, then the row; a crash in between is finished by the next run
 *
 * Objects that the index never knew: a pack of an upload that ended before it was registered is deleted; a pack of
 * another incarnation of the index stops the run, since the index is not the store's and must be rebuilt first. A
 * complete manifest without a row is adopted as `recovered`; an incomplete one of an ended upload is removed.
 */

import { Bitmap } from "../bitmap.ts";
import { FormatError, hex } from "../bytes.ts";
import { IndexError } from "../index/port.ts";
import { restingOn } from "../index/rules.ts";
import type { WriterRegistry } from "../keys/writers.ts";
import type { Manifest } from "../manifest.ts";
import { openDetails, openManifest } from "../manifest.ts";
import { lastPart } from "../names.ts";
import { isObjectStoreError } from "../object-store.ts";
import type { PackTable } from "../packs/pack.ts";
import { readPackTable } from "../packs/pack.ts";
import type { Vault } from "../vault.ts";
import { readWriters } from "../vault.ts";
import type { Liveness } from "./liveness.ts";
import { deadPacks, liveness, markLive } from "./liveness.ts";

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

/** The index does not belong to what is in the store. */
export class IncompleteIndexError extends Error {
  override readonly name = "IncompleteIndexError";
}

/** Collects once. Safe beside backups, restores and relaying. */
export async function collect(vault: Vault): Promise<CollectReport> {
  const { index, ctx } = vault;
  await index.expireUploads(ctx.now());
  const writers = await readWriters(vault);
  const orphans = await sweepOrphans(vault, writers);
  const finished = await finishDeletions(vault);
  const swept = await sweepDead(vault);
  return {
    deletedPacks: [...finished.packs, ...swept.packs],
    freedBytes: finished.bytes + swept.bytes,
    ...orphans,
  };
}

/** Condemns and deletes the packs in which nothing lives. */
export async function sweepDead(vault: Sweepable): Promise<{ packs: string[]; bytes: number }> {
  const packs: string[] = [];
  let bytes = 0;
  for (const [pack, { size, items }] of await condemnDead(vault)) {
    if (!(await vault.index.beginDelete(pack, items))) continue;
    await vault.store.delete(vault.names.pack(pack));
    await vault.index.forgetPack(pack);
    packs.push(pack);
    bytes += size;
  }
  return { packs, bytes };
}

/** What lives now, and the generation that this holds for. */
export async function markVault(vault: Pick<Vault, "index">): Promise<{ state: Liveness; generation: number }> {
  const { generation, reach } = await vault.index.roots();
  const packs = await vault.index.packs();
  const state = await liveness({
    live: markLive(reach),
    items: vault.index.allItems(),
    frames: vault.index.allFrames(),
    packs,
  });
  return { state, generation };
}

async function condemnDead(vault: Sweepable): Promise<Map<string, { size: number; items: readonly number[] }>> {
  const result = new Map<string, { size: number; items: readonly number[] }>();
  for (let i = 0; i < maxMarkings; i++) {
    const { state, generation } = await markVault(vault);
    const { condemned, stale } = await vault.index.condemn(deadPacks(state), generation);
    if (stale) continue;
    // A pack condemned by an earlier, interrupted run is as dead as one condemned now, if this marking agrees.
    const before = [...state.packs.values()].filter((life) => life.state === "condemned" && life.liveBytes === 0);
    for (const pack of [...condemned, ...before.map((life) => life.pack)]) {
      result.set(pack, { size: state.packs.get(pack)?.size ?? 0, items: state.deadItems.get(pack) ?? [] });
    }
    return result;
  }
  return result;
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

type OrphanReport = Pick<CollectReport, "orphanPacks" | "adoptedSnapshots" | "removedManifests" | "foreign">;

async function sweepOrphans(vault: Vault, writers: WriterRegistry): Promise<OrphanReport> {
  const foreign: { name: string; reason: string }[] = [];
  const manifests = await sweepManifests(vault, writers, foreign);
  const orphanPacks: string[] = [];
  for await (const { name, size } of vault.store.list(vault.names.packs)) {
    const pack = lastPart(name);
    const table = (await isKnown(vault, pack)) ? null : await orphanTable(vault, writers, pack, size, foreign);
    if (table === null || !(await isAbandoned(vault, table.header, pack))) continue;
    await vault.store.delete(name);
    orphanPacks.push(pack);
  }
  return { ...manifests, orphanPacks, foreign };
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

/** Whether an object's upload has ended. Throws where another index gave out its session. */
async function isAbandoned(
  vault: Vault,
  header: { readonly session: number; readonly incarnation: number },
  name: string,
): Promise<boolean> {
  const { incarnation, live } = await vault.index.sessions();
  if (header.incarnation !== incarnation)
    throw new IncompleteIndexError(`${name} is not of this index: rebuild it first`);
  // Registered between the listing and now? Then it is no orphan at all.
  return !live.includes(header.session) && !(await isKnown(vault, name));
}

async function sweepManifests(
  vault: Vault,
  writers: WriterRegistry,
  foreign: { name: string; reason: string }[],
): Promise<Pick<OrphanReport, "adoptedSnapshots" | "removedManifests">> {
  const rows = new Set((await vault.index.snapshots()).map(({ id }) => id));
  const adopted: string[] = [];
  const removed: string[] = [];
  const groups = await manifestGroups(vault);
  for (const [snapshot, changes] of groups) {
    if (rows.has(snapshot) || changes.tombstone || !changes.manifest) continue;
    const manifest = await orphanManifest(vault, writers, snapshot, foreign);
    if (manifest === null || !(await isAbandoned(vault, manifest.header, snapshot))) continue;
    // Committed or deleted between the first look and now? Then it is no orphan at all.
    if ((await vault.index.snapshots()).some(({ id }) => id === snapshot)) continue;
    if ((await vault.store.stat(vault.names.tombstone(snapshot))) !== null) continue;
    if (await adopt(vault, manifest)) adopted.push(snapshot);
    else {
      await vault.store.delete(vault.names.manifest(snapshot));
      removed.push(snapshot);
    }
  }
  return { adoptedSnapshots: adopted, removedManifests: removed };
}

async function manifestGroups(vault: Vault): Promise<Map<string, { manifest: boolean; tombstone: boolean }>> {
  const groups = new Map<string, { manifest: boolean; tombstone: boolean }>();
  for await (const { name } of vault.store.list(vault.names.snapshots)) {
    const snapshot = name.slice(vault.names.snapshots.length).split("/")[0] ?? "";
    const group = groups.get(snapshot) ?? { manifest: false, tombstone: false };
    groups.set(snapshot, group);
    if (lastPart(name) === "manifest") group.manifest = true;
    else if (lastPart(name) === "tombstone") group.tombstone = true;
  }
  return groups;
}

async function orphanManifest(
  vault: Vault,
  writers: WriterRegistry,
  snapshot: string,
  foreign: { name: string; reason: string }[],
): Promise<Manifest | null> {
  const name = vault.names.manifest(snapshot);
  try {
    return openManifest(
      await vault.store.get(name),
      { snapshot, vaultId: vault.keys.vaultId },
      writers,
      vault.keys.authorityPublicKey,
    );
  } catch (error) {
    if (error instanceof FormatError) foreign.push({ name, reason: error.message });
    else if (!isObjectStoreError(error, "not_found")) throw error;
    return null;
  }
}

/** Gives a complete manifest its row, like the upload that was about to: pins first, then the commit. */
async function adopt(vault: Vault, manifest: Manifest): Promise<boolean> {
  const { index, ctx } = vault;
  const items = (await index.itemsByOrdinal([...Bitmap.decode(manifest.row.reach)])).filter((item) => item !== null);
  const upload = `adopt ${manifest.row.id} ${hex(ctx.random(8))}`;
  await index.beginUpload({ upload, owner: "", leaseUntil: ctx.now() + adoptionLeaseMs, base: null });
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
