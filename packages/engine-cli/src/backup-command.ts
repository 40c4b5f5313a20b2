/** `backup`: backs up one source with its file cache, then heals damaged frames. */

import { createHash } from "node:crypto";
import path from "node:path";
import { CutWorkerPool, FileCache, LocalTarget, pathsSource, runBackup, writerKeys } from "@emanet/engine/backup";
import type { Answer } from "./answer.ts";
import { rowData } from "./answer.ts";
import type { CommandLine } from "./arguments.ts";
import { UsageError } from "./arguments.ts";
import type { Progress } from "./progress.ts";
import { bytesText } from "./progress.ts";
import type { Repository } from "./repository.ts";
import { garbageCollector, stopHeapGrowth } from "./small-heaps.ts";

export async function backupCommand(repository: Repository, line: CommandLine, progress: Progress): Promise<Answer> {
  if (line.paths.length === 0) throw new UsageError("backup needs at least one path");
  const { vault, writer, ctx, folder } = repository;
  const sourceName = line.source ?? path.resolve(line.paths[0] ?? "");
  const owner = Buffer.from(writer.id).toString("hex");
  const collectGarbage = garbageCollector();
  const pool = new CutWorkerPool(line.threads, stopHeapGrowth);
  const cache = new FileCache(
    path.join(folder, "caches", `${createHash("sha256").update(sourceName).digest("hex").slice(0, 32)}.sqlite`),
  );
  const upload = Buffer.from(ctx.random(16)).toString("hex");
  const recheck = async () => (await import("@emanet/engine")).recheckDamagedFrames(vault);
  const target = new LocalTarget({ access: vault, upload, owner, authority: vault.authority, recheck });
  try {
    const { snapshot, warnings, unchanged, cacheError } = await runBackup({
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
      ...(cacheError === null ? [] : [`the file cache was not written: ${cacheError.message}`]),
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

async function healIfNeeded({ vault, catalog }: Repository): Promise<number> {
  if ((await catalog.damagedFrames()).length === 0) return 0;
  const { heal } = await import("@emanet/engine");
  return (await heal(vault)).healed.length;
}
