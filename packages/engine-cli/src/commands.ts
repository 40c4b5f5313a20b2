/** What each command does. An answer has lines for people, data for machines, and says whether all is well. */

import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import path from "node:path";
import {
  CutPool,
  collect,
  deleteSnapshot,
  FileCache,
  heal,
  LocalTarget,
  pathsSource,
  readWriters,
  rebuild,
  relay,
  repairKeys,
  restateManifests,
  restoreSnapshot,
  runBackup,
  type SnapshotRow,
  scrub,
  verifySnapshots,
  WritePool,
  writerKeys,
} from "@emanet/engine";
import type { CommandLine, CommandName } from "./arguments.ts";
import { UsageError } from "./arguments.ts";
import { garbageCollector } from "./garbage.ts";
import type { Progress } from "./progress.ts";
import { bytesText } from "./progress.ts";
import type { Repository } from "./repository.ts";

export interface Answer {
  readonly lines: readonly string[];
  readonly data: unknown;
  /** False when something is missing or damaged: exit status 3. */
  readonly complete: boolean;
}

type Command = (repository: Repository, line: CommandLine, progress: Progress) => Promise<Answer>;

export const commands: Record<CommandName, Command> = {
  init: async ({ folder }) =>
    ok([`made a repository in ${folder}`, "keep a copy of master.key elsewhere"], { repo: folder }),
  backup: backupCommand,
  snapshots: snapshotsCommand,
  restore: restoreCommand,
  verify: verifyCommand,
  scrub: scrubCommand,
  collect: collectCommand,
  relay: relayCommand,
  rebuild: rebuildCommand,
  delete: deleteCommand,
  stats: statsCommand,
};

async function backupCommand(repository: Repository, line: CommandLine, progress: Progress): Promise<Answer> {
  if (line.paths.length === 0) throw new UsageError("backup needs at least one path");
  const { vault, writer, ctx, folder } = repository;
  const sourceName = line.source ?? path.resolve(line.paths[0] ?? "");
  const owner = Buffer.from(writer.id).toString("hex");
  const collectGarbage = garbageCollector();
  const pool = new CutPool(line.threads);
  const cache = new FileCache(
    path.join(folder, "caches", `${createHash("sha256").update(sourceName).digest("hex").slice(0, 32)}.sqlite`),
  );
  const upload = Buffer.from(ctx.random(16)).toString("hex");
  const target = new LocalTarget({ access: vault, upload, owner, authority: vault.authority });
  try {
    const { snapshot, warnings, unchanged } = await runBackup({
      ctx,
      keys: writerKeys(vault.keys),
      signer: writer,
      target,
      pool,
      source: pathsSource(line.paths),
      sourceName,
      owner,
      cache,
      onProgress: ({ files, bytes, storedBytes }) => {
        collectGarbage(files);
        progress.report(() => `${files} files, ${bytesText(bytes)}, ${bytesText(storedBytes)} stored`);
      },
    });
    const healed = await healIfNeeded(repository);
    const warned = warnings.map(({ path: file, code }) => ({ path: Buffer.from(file).toString("utf8"), code }));
    const lines = [
      `snapshot ${snapshot.id}`,
      `${snapshot.files} files, ${bytesText(snapshot.size)}; ${unchanged} unchanged; ${bytesText(snapshot.storedBytes)} stored`,
      ...warned.map(({ path: file, code }) => `warning: ${file}: ${code}`),
      ...(healed > 0 ? [`healed ${healed} damaged frames`] : []),
    ];
    return {
      lines,
      data: { ...rowData(snapshot), unchanged, warnings: warned, healed_frames: healed },
      complete: warned.length === 0,
    };
  } finally {
    cache.close();
    await pool.close();
  }
}

async function healIfNeeded({ vault, index }: Repository): Promise<number> {
  if ((await index.damagedFrames()).length === 0) return 0;
  return (await heal(vault)).healed.length;
}

async function snapshotsCommand({ index }: Repository): Promise<Answer> {
  const rows = await index.snapshots();
  const lines = rows.map(
    (row) =>
      `${row.id}  ${new Date(row.completedAt).toISOString()}  ${row.files} files  ${bytesText(row.size)}  ${row.source}${row.status === "recovered" ? "  (recovered)" : ""}`,
  );
  return ok(lines.length === 0 ? ["no snapshots"] : lines, { snapshots: rows.map(rowData) });
}

async function restoreCommand(repository: Repository, line: CommandLine, progress: Progress): Promise<Answer> {
  if (line.target === null) throw new UsageError("restore needs --target DIR");
  const [wanted, ...paths] = line.paths;
  const snapshot = await findSnapshot(repository, wanted ?? "latest");
  const pool = new WritePool(line.threads);
  try {
    const result = await restoreSnapshot({
      vault: repository.vault,
      snapshot,
      target: path.resolve(line.target),
      pool,
      proveAll: line.full,
      paths: paths.length === 0 ? undefined : paths.map((each) => Buffer.from(each)),
      onProgress: ({ files, bytes }) => progress.report(() => `${files} files, ${bytesText(bytes)}`),
    });
    if (result.damagedFrames.length > 0) await repository.index.setDamaged(result.damagedFrames, true);
    const failures = result.failures.map((each) => ({
      path: Buffer.from(each.path).toString("utf8"),
      reason: each.reason,
      pack: each.pack,
    }));
    const lines = [
      `${result.files} files, ${bytesText(result.bytes)} restored`,
      ...(result.skippedFiles > 0 ? [`${result.skippedFiles} of them were there from an interrupted run`] : []),
      ...failures.map((each) => `not restored: ${each.path}: ${each.reason}`),
    ];
    return {
      lines,
      data: {
        snapshot: snapshot.id,
        files: result.files,
        bytes: result.bytes,
        skipped_files: result.skippedFiles,
        skipped_bytes: result.skippedBytes,
        failures,
      },
      complete: failures.length === 0,
    };
  } finally {
    await pool.close();
  }
}

async function verifyCommand(repository: Repository, line: CommandLine, progress: Progress): Promise<Answer> {
  const { vault, index } = repository;
  const report = await verifySnapshots({
    vault,
    snapshots: await index.snapshots(),
    readData: line.full,
    onProgress: ({ files, frames }) => progress.report(() => `${files} files, ${frames} frames`),
  });
  if (report.damagedFrames.length > 0) await index.setDamaged(report.damagedFrames, true);
  const findings = report.findings.map((each) => ({
    snapshot: each.snapshot,
    path: Buffer.from(each.path).toString("utf8"),
    reason: each.reason,
    pack: each.pack,
  }));
  const lines = [
    `${report.snapshots} snapshots, ${report.files} files, ${report.frames} frames proved`,
    ...findings.map((each) => `${each.snapshot} ${each.path}: ${each.reason}`),
  ];
  return {
    lines,
    data: { snapshots: report.snapshots, files: report.files, frames: report.frames, findings },
    complete: findings.length === 0,
  };
}

async function scrubCommand(
  { vault, index, masterKey }: Repository,
  _line: CommandLine,
  progress: Progress,
): Promise<Answer> {
  const judge = { vaultId: vault.keys.vaultId, writers: await readWriters(vault) };
  const report = await scrub({
    ...vault,
    judge,
    authorityPublicKey: vault.keys.authorityPublicKey,
    onProgress: ({ packs, bytes }) => progress.report(() => `${packs} packs, ${bytesText(bytes)}`),
  });
  const damaged = report.findings.flatMap(({ frames }) => frames);
  if (damaged.length > 0) await index.setDamaged(damaged, true);
  const repaired = [
    ...(report.keys.length === 0 ? [] : await repairKeys(vault, masterKey)),
    ...(report.manifests.length === 0 ? [] : await restateManifests(vault, report.manifests)),
  ];
  const lines = [
    `${report.packs} packs, ${bytesText(report.bytes)} read`,
    ...report.findings.map((each) => `pack ${each.pack}: ${each.kind}: ${each.reason}`),
    ...report.manifests.map((each) => `${each.name}: ${each.kind}: ${each.reason}`),
    ...report.keys.map((each) => `${each.name}: ${each.reason}`),
    ...repaired.map((name) => `written anew: ${name}`),
  ];
  const complete = report.findings.length + report.manifests.length + report.keys.length === 0;
  return { lines, data: { ...report, repaired }, complete };
}

async function collectCommand({ vault }: Repository, { givenUp }: CommandLine): Promise<Answer> {
  const report = await collect(vault, { givenUp });
  const lines = [
    `${report.deletedPacks.length} packs deleted, ${bytesText(report.freedBytes)} freed`,
    ...report.orphanPacks.map((pack) => `leftover pack ${pack} deleted`),
    ...report.adoptedSnapshots.map((id) => `snapshot ${id} recovered`),
    ...report.foreign.map(({ name, reason }) => `left alone: ${name}: ${reason}`),
  ];
  return { lines, data: report, complete: report.foreign.length === 0 };
}

async function relayCommand({ vault }: Repository): Promise<Answer> {
  const healed = await heal(vault);
  const report = await relay(vault);
  const lines = [
    `${report.segments} segments laid down again, ${report.rewrittenPacks.length} packs rewritten, ${healed.healed.length} frames healed`,
    ...healed.stillDamaged.map((frame) => `frame ${frame} is still damaged: a backup of its source can heal it`),
  ];
  return { lines, data: { ...report, ...healed }, complete: healed.stillDamaged.length === 0 };
}

async function rebuildCommand({ vault }: Repository, _line: CommandLine, progress: Progress): Promise<Answer> {
  const report = await rebuild(vault, ({ packs }) => progress.report(() => `${packs} packs`));
  const lines = [
    `${report.packs} packs, ${report.items} items, ${report.snapshots.length} snapshots`,
    ...report.refused.map(({ name, reason }) => `refused: ${name}: ${reason}`),
    ...report.incomplete.map((id) => `incomplete: snapshot ${id}`),
  ];
  return {
    lines,
    data: report,
    complete: report.refused.length + report.lostFrames.length + report.incomplete.length === 0,
  };
}

async function deleteCommand(repository: Repository, line: CommandLine): Promise<Answer> {
  const [wanted] = line.paths;
  if (wanted === undefined) throw new UsageError("delete needs a snapshot");
  const { id } = await findSnapshot(repository, wanted);
  await deleteSnapshot(repository.vault, id);
  return ok([`snapshot ${id} deleted; collect gives its space back`], { deleted: id });
}

async function statsCommand({ index, folder }: Repository): Promise<Answer> {
  const snapshots = await index.snapshots();
  const packs = await index.packs();
  let segments = 0;
  let nodes = 0;
  for await (const { kind } of index.allItems()) kind === "node" ? nodes++ : segments++;
  let frames = 0;
  let damaged = 0;
  for await (const row of index.allFrames()) {
    frames++;
    if (row.damaged) damaged++;
  }
  const stored = packs.reduce((sum, { size }) => sum + size, 0);
  const restorable = snapshots.reduce((sum, { size }) => sum + size, 0);
  const indexBytes = statSync(path.join(folder, "index.sqlite")).size;
  const data = {
    snapshots: snapshots.length,
    restorable_bytes: restorable,
    stored_bytes: stored,
    index_bytes: indexBytes,
    packs: packs.length,
    frames,
    damaged_frames: damaged,
    segments,
    nodes,
  };
  return {
    lines: Object.entries(data).map(
      ([name, value]) => `${name.replaceAll("_", " ")}: ${name.endsWith("bytes") ? bytesText(value) : value}`,
    ),
    data,
    complete: damaged === 0,
  };
}

async function findSnapshot({ index }: Repository, wanted: string): Promise<SnapshotRow> {
  const rows = await index.snapshots();
  const found = wanted === "latest" ? rows.slice(-1) : rows.filter(({ id }) => id.startsWith(wanted));
  const [row] = found;
  if (row === undefined || found.length > 1)
    throw new UsageError(found.length > 1 ? `${wanted} is not unique` : `no snapshot ${wanted}`);
  return row;
}

function rowData(row: SnapshotRow) {
  return {
    id: row.id,
    source: row.source,
    completed_at: new Date(row.completedAt).toISOString(),
    size_bytes: row.size,
    stored_bytes: row.storedBytes,
    file_count: row.files,
    warning_count: row.warnings,
    root_hash: Buffer.from(row.rootId).toString("hex"),
    status: row.status,
  };
}

function ok(lines: readonly string[], data: unknown): Answer {
  return { lines, data, complete: true };
}
