/** What this machine remembers of its backups: per source how the last ones ended. `status` shows it; a progress bar expects as much. */

import path from "node:path";
import { readJsonFile, writeSecretFile } from "./secret-file.ts";

export interface SourceResult {
  readonly source: string;
  readonly paths: readonly string[];
  readonly at: number;
  readonly result: "completed" | "completed_with_warnings" | "failed";
  readonly snapshotId: string | null;
  readonly files: number;
  readonly bytes: number;
  readonly warnings: number;
  readonly message: string | null;
}

function resultsFile(folder: string): string {
  return path.join(folder, "sources.json");
}

export function readResults(folder: string): readonly SourceResult[] {
  const stored = readJsonFile(resultsFile(folder)) ?? {};
  return Object.values(stored).filter((each): each is SourceResult => typeof each === "object" && each !== null);
}

/** The last result of a source that was completed has its totals. */
export function lastResult(folder: string, source: string): SourceResult | null {
  return readResults(folder).find((each) => each.source === source) ?? null;
}

/** Adds results in one step: a run with hundreds of sources waits for the disk once. */
export function storeResults(folder: string, results: readonly SourceResult[]): void {
  if (results.length === 0) return;
  const stored = readJsonFile(resultsFile(folder)) ?? {};
  const added = Object.fromEntries(results.map((result) => [result.source, result]));
  writeSecretFile(resultsFile(folder), `${JSON.stringify({ ...stored, ...added }, null, 2)}\n`);
}
