/** `verify`, `scrub`, `prune`, `repack`, `rebuild` and `delete`. */

import {
  ChainMismatchError,
  deleteSnapshot,
  heal,
  IncompleteCatalogError,
  identityOf,
  packsToRewrite,
  prune,
  RestoreWorkerPool,
  recheckDamagedFrames,
  recover,
  repack,
  repairKeys,
  rewriteManifests,
  rewritePacks,
  scrub,
  verifySnapshots,
} from "@emanet/engine";
import { allSnapshotRows } from "@emanet/engine/vault";
import type { Answer, ReadRepository } from "./answer.ts";
import { findSnapshot, ok } from "./answer.ts";
import type { CommandLine } from "./arguments.ts";
import { UsageError } from "./arguments.ts";
import type { Progress } from "./progress.ts";
import { bytesText } from "./progress.ts";
import type { Repository } from "./repository.ts";
import { stopHeapGrowth } from "./small-heaps.ts";

export async function verifyCommand(
  repository: ReadRepository,
  line: CommandLine,
  progress: Progress,
): Promise<Answer> {
  stopHeapGrowth();
  const { vault, catalog } = repository;
  const pool = new RestoreWorkerPool(line.threads);
  const report = await verifySnapshots({
    vault,
    snapshots: allSnapshotRows(catalog),
    pool,
    readData: line.full,
    onProgress: ({ files, frames }) => progress.report(() => `${files} files, ${frames} frames`),
  }).finally(() => pool.close());
  if (report.damagedFrames.length > 0) await catalog.setDamaged(report.damagedFrames, true);
  const findings = report.findings.map((each) => ({
    snapshot: each.snapshot,
    path: Buffer.from(each.path).toString("utf8"),
    reason: each.reason,
    pack: each.pack,
  }));
  const lines = [
    `${report.snapshots} snapshots, ${report.files} files, ${report.frames} frames verified`,
    ...findings.map((each) => `${each.snapshot} ${each.path}: ${each.reason}`),
  ];
  return {
    lines,
    data: { snapshots: report.snapshots, files: report.files, frames: report.frames, findings },
    complete: findings.length === 0,
  };
}

export async function scrubCommand(
  { vault, catalog, masterKey }: Repository,
  _line: CommandLine,
  progress: Progress,
): Promise<Answer> {
  const report = await scrub({
    ...vault,
    identity: identityOf(vault),
    onProgress: ({ packs, bytes }) => progress.report(() => `${packs} packs, ${bytesText(bytes)}`),
  });
  const damaged = report.findings.flatMap(({ frames }) => frames);
  if (damaged.length > 0) await catalog.setDamaged(damaged, true);
  await recheckDamagedFrames(vault, report.intactFrames);
  const repaired = [
    ...(report.keys.length === 0 ? [] : await repairKeys(vault, masterKey)),
    ...(report.manifests.length === 0 ? [] : await rewriteManifests(vault, report.manifests)),
    ...(await rewriteDamaged(vault, packsToRewrite(report.findings))),
  ];
  const lines = [
    `${report.packs} packs, ${bytesText(report.bytes)} read`,
    ...report.findings.map((each) => `pack ${each.pack}: ${each.kind}: ${each.reason}`),
    ...report.manifests.map((each) => `${each.name}: ${each.kind}: ${each.reason}`),
    ...report.keys.map((each) => `${each.name}: ${each.reason}`),
    ...report.chain.map((each) => `${each.name}: ${each.reason}`),
    ...repaired.map((name) => `rewritten: ${name}`),
  ];
  const complete = report.findings.length + report.manifests.length + report.keys.length + report.chain.length === 0;
  return { lines, data: { ...report, repaired }, complete };
}

/** A pack is rewritten for its own sake, whatever part of it is dead. */
const noDeadShare = 1;

/** Rewrites packs whose frames are intact. If the catalog does not know everything in the store, nothing is rewritten. */
async function rewriteDamaged(vault: Repository["vault"], packs: readonly string[]): Promise<readonly string[]> {
  if (packs.length === 0) return [];
  try {
    const { rewritten } = await rewritePacks(vault, noDeadShare, { damagedPacks: packs });
    return rewritten.map((pack) => `pack ${pack}`);
  } catch (error) {
    const isStopped = error instanceof IncompleteCatalogError || error instanceof ChainMismatchError;
    if (!isStopped) throw error;
    return [];
  }
}

export async function pruneCommand({ vault }: Repository, { giveUp }: CommandLine): Promise<Answer> {
  const report = await prune(vault, { giveUp });
  const lines = [
    `${report.deletedPacks.length} packs deleted, ${bytesText(report.freedBytes)} freed`,
    ...report.orphanPacks.map((pack) => `orphan pack ${pack} deleted`),
    ...report.recoveredSnapshots.map((id) => `snapshot ${id} recovered`),
    ...report.removedManifests.map((id) => `snapshot ${id} given up: its manifest is deleted`),
    ...report.unknownPacks.map(({ name, reason }) => `not deleted: ${name}: ${reason}`),
  ];
  return { lines, data: report, complete: report.unknownPacks.length === 0 };
}

export async function repackCommand({ vault }: Repository, line: CommandLine, progress: Progress): Promise<Answer> {
  const healed = await heal(vault);
  const pool = new RestoreWorkerPool(line.threads);
  const report = await repack(
    vault,
    ({ framesRead, segments, packs }) =>
      progress.report(() => `${framesRead} frames read, ${segments} segments repacked, ${packs} packs rewritten`),
    { pool },
  ).finally(() => pool.close());
  const lines = [
    `${report.segments} segments repacked, ${report.rewrittenPacks.length} packs rewritten, ${healed.healed.length} frames healed`,
    ...(report.isComplete ? [] : ["the limit of a run was reached: the next repack does the rest"]),
    ...healed.stillDamaged.map((frame) => `frame ${frame} is still damaged: a backup of its source can heal it`),
  ];
  return { lines, data: { ...report, ...healed }, complete: healed.stillDamaged.length === 0 };
}

export async function rebuildCommand({ vault }: Repository, _line: CommandLine, progress: Progress): Promise<Answer> {
  const report = await recover(vault, "rebuild", ({ packs }) => progress.report(() => `${packs} packs`));
  const lines = [
    `${report.packs} packs, ${report.items} items, ${report.snapshots.length} snapshots`,
    ...report.refused.map(({ name, reason }) => `refused: ${name}: ${reason}`),
    ...report.incomplete.map((id) => `incomplete: snapshot ${id}`),
    ...report.hidden.map((id) => `missing: snapshot ${id} is in the vault's chain and has no valid manifest`),
    ...report.unconfirmed.map((id) => `unconfirmed: snapshot ${id} has a manifest and is not in the vault's chain`),
    ...report.chainFaults.map(({ name, reason }) => `chain: ${name}: ${reason}`),
    ...report.chainIgnored.map(({ name, reason }) => `not in the chain: ${name}: ${reason}`),
  ];
  const found = [
    report.refused,
    report.lostFrames,
    report.incomplete,
    report.incompleteSegments,
    report.hidden,
    report.chainFaults,
  ];
  return { lines, data: report, complete: found.every((list) => list.length === 0) };
}

export async function deleteCommand(repository: Repository, line: CommandLine): Promise<Answer> {
  const { snapshot: wanted } = line;
  if (wanted === null) throw new UsageError("delete needs a snapshot id");
  const { id } = await findSnapshot(repository, wanted);
  await deleteSnapshot(repository.vault, id);
  return ok([`snapshot ${id} deleted; prune frees its space`], { deleted: id });
}
