/** `restore`: restores a snapshot or parts of it, and lists the files that could not be restored. */

import path from "node:path";
import { LocalReadPort, RestoreWorkerPool, restoreSnapshot } from "@emanet/engine/restore";
import type { Answer, ReadRepository } from "./answer.ts";
import { findSnapshot } from "./answer.ts";
import type { CommandLine } from "./arguments.ts";
import { UsageError } from "./arguments.ts";
import type { Progress } from "./progress.ts";
import { bytesText } from "./progress.ts";
import { preferSmallHeaps } from "./small-heaps.ts";

export async function restoreCommand(
  repository: ReadRepository,
  line: CommandLine,
  progress: Progress,
): Promise<Answer> {
  if (line.target === null) throw new UsageError("restore needs --target DIR");
  const { paths } = line;
  const snapshot = await findSnapshot(repository, line.snapshot ?? "latest");
  // Parts are mostly one or two files and need little memory.
  if (paths.length === 0) preferSmallHeaps();
  const pool = new RestoreWorkerPool(line.threads);
  try {
    const result = await restoreSnapshot({
      port: new LocalReadPort(repository.vault),
      snapshot,
      target: path.resolve(line.target),
      pool,
      hashAll: line.full,
      paths: paths.length === 0 ? undefined : paths.map((each) => Buffer.from(each)),
      onProgress: ({ files, bytes }) => progress.report(() => `${files} files, ${bytesText(bytes)}`),
    });
    if (result.damagedFrames.length > 0) await repository.catalog.setDamaged(result.damagedFrames, true);
    const failures = result.failures.map((each) => ({
      path: Buffer.from(each.path).toString("utf8"),
      reason: each.reason,
      pack: each.pack,
    }));
    const lines = [
      `${result.files} files, ${bytesText(result.bytes)} restored`,
      ...(result.skippedFiles > 0
        ? [`${result.skippedFiles} of them were restored before, by an interrupted restore`]
        : []),
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
