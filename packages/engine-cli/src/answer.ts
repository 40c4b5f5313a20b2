/** The answer of a command: lines of text, data for --json, and whether it found nothing missing or damaged. */

import type { ReadableVault, SnapshotInfo, SnapshotRow, SqliteCatalog } from "@emanet/engine/vault";
import { allSnapshots } from "@emanet/engine/vault";
import type { CommandLine } from "./arguments.ts";
import { UsageError } from "./arguments.ts";
import type { Progress } from "./progress.ts";
import type { Repository } from "./repository.ts";

export interface Answer {
  readonly lines: readonly string[];
  readonly data: unknown;
  /** False when something is missing or damaged: exit status 3. */
  readonly complete: boolean;
}

/** What a command needs that only reads. */
export interface ReadRepository {
  readonly vault: ReadableVault;
  readonly catalog: SqliteCatalog;
}

export type Command = (repository: Repository, line: CommandLine, progress: Progress) => Promise<Answer>;

/** The answer of a command that found nothing missing or damaged. */
export function ok(lines: readonly string[], data: unknown): Answer {
  return { lines, data, complete: true };
}

/** A snapshot as --json prints it. */
export function rowData(row: SnapshotInfo) {
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

/** Finds a snapshot by its id, the start of its id, or `latest`. */
export async function findSnapshot({ catalog }: Pick<ReadRepository, "catalog">, wanted: string): Promise<SnapshotRow> {
  const found: string[] = [];
  if (wanted === "latest")
    for (const { id } of await catalog.snapshotPage({ newestFirst: true, limit: 1 })) found.push(id);
  else for await (const { id } of allSnapshots(catalog)) if (id.startsWith(wanted)) found.push(id);
  const [id] = found;
  const row = id === undefined ? null : await catalog.snapshot(id);
  if (row === null || found.length > 1)
    throw new UsageError(found.length > 1 ? `${wanted} is not unique` : `no snapshot ${wanted}`);
  return row;
}
