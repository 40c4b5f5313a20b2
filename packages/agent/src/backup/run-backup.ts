/** One backup: begins a snapshot at its destination, runs the engine, remembers how it ended. */

import type { BackupProgress, BackupResult, BackupSource } from "@emanet/engine/backup";
import { CutWorkerPool, runBackup, WorkerDiedError } from "@emanet/engine/backup";
import { garbageCollector } from "@emanet/engine-cli";
import type { AgentContext } from "../context.ts";
import { CommandFailure, exitCodes } from "../failure.ts";
import type { ProgressBar } from "../output/progress-bar.ts";
import { withLock } from "../state/locks.ts";
import { lastResult, type SourceResult, storeResults } from "../state/source-results.ts";
import type { BegunSnapshot, Destination, SnapshotWishes } from "./destination.ts";
import { scanTotal } from "./scan.ts";

export interface BackupJob {
  readonly destination: Destination;
  readonly wishes: SnapshotWishes;
  readonly source: BackupSource;
  /** For people: what was named on the command line. */
  readonly paths: readonly string[];
  readonly threads: number;
  /** Without the file cache: every file is read again. */
  readonly readsAll: boolean;
  readonly progress: ProgressBar;
}

export interface BackupOutcome extends BackupResult {
  readonly id: string;
  readonly healed: number;
}

/** Attempts after a thread that reads files has died: the service ends the upload then, so each gets a snapshot of its own. */
const maxAttempts = 3;

/** Runs the backup. Another one of the same source must not run at the same time: both would use one file cache. */
export async function backUp(context: AgentContext, job: BackupJob): Promise<BackupOutcome> {
  const { destination, wishes } = job;
  const locked = await withLock(destination.folder, `backup ${wishes.source}`, async () => {
    let again = false;
    for (let number = 1; ; number++) {
      try {
        return await attempt(context, job, again);
      } catch (error) {
        const { OutdatedKeysError } = await import("@emanet/engine/remote");
        if (error instanceof OutdatedKeysError && !again) again = true;
        else if (!(error instanceof WorkerDiedError) || number >= maxAttempts) throw error;
      }
    }
  });
  if (locked !== null) return locked.value;
  throw new CommandFailure(`another backup of ${wishes.source} is running`, { exitCode: exitCodes.busy });
}

async function attempt(context: AgentContext, job: BackupJob, again: boolean): Promise<BackupOutcome> {
  const { destination, wishes, paths } = job;
  const remember = (facts: Omit<SourceResult, "source" | "paths" | "at">) =>
    storeResults(destination.folder, [{ source: wishes.source, paths, at: context.now(), ...facts }]);
  const before = lastResult(destination.folder, wishes.source);
  try {
    const begun = await destination.begin(wishes, again);
    const result = await runEngine(context, job, begun);
    const { snapshot } = result;
    const id = destination.shownId(snapshot.id);
    const { files, size: bytes, warnings } = snapshot;
    const word = warnings === 0 ? "completed" : "completed_with_warnings";
    remember({ result: word, snapshotId: id, files, bytes, warnings, message: null });
    return { ...result, id, healed: await destination.finish() };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const { files = 0, bytes = 0 } = before ?? {};
    remember({ result: "failed", snapshotId: null, files, bytes, warnings: 0, message });
    throw error;
  }
}

async function runEngine(context: AgentContext, job: BackupJob, begun: BegunSnapshot): Promise<BackupResult> {
  const { wishes, source, threads, progress, destination, readsAll } = job;
  const collectGarbage = garbageCollector();
  const pool = new CutWorkerPool(threads, destination.limitMemory);
  const ended = new AbortController();
  expectTotal(job, destination.folder, ended.signal);
  try {
    return await engineBackup(context, {
      ...{ begun, wishes, pool, source, readsAll },
      onProgress: ({ files, bytes, storedBytes }) => {
        collectGarbage(files);
        begun.onFiles?.(files);
        progress.report({ files, bytes, newBytes: storedBytes });
      },
    });
  } finally {
    ended.abort();
    begun.cache?.close();
    await pool.close();
  }
}

export interface EngineBackup {
  readonly begun: BegunSnapshot;
  readonly wishes: SnapshotWishes;
  readonly pool: CutWorkerPool;
  readonly source: BackupSource;
  readonly readsAll: boolean;
  readonly onProgress: (progress: BackupProgress) => void;
  readonly waitToStore?: (() => Promise<() => void>) | undefined;
}

/** Runs the engine for a snapshot that was begun. The caller closes the cache and the pool. */
export async function engineBackup(context: AgentContext, backup: EngineBackup): Promise<BackupResult> {
  const { begun, wishes, pool, source, readsAll, onProgress, waitToStore } = backup;
  const result = await runBackup({
    ...begun,
    ...{ ctx: context, pool, source, signal: context.signal, onProgress, waitToStore },
    details: {
      label: wishes.label ?? undefined,
      trigger: wishes.trigger,
      taxpayer: wishes.taxpayerId ?? undefined,
      externalReference: wishes.reference ?? undefined,
    },
    cache: readsAll ? undefined : begun.cache,
  });
  return { ...result, cacheError: result.cacheError ?? begun.cacheError ?? null };
}

/** A bar needs to know how much there is: as much as last time, or what a walk finds meanwhile. */
function expectTotal({ progress, source, wishes }: BackupJob, folder: string, signal: AbortSignal): void {
  if (!progress.isShown) return;
  const before = lastResult(folder, wishes.source);
  if (before !== null && before.bytes > 0) progress.setTotal(before);
  else
    scanTotal(source, signal).then(
      (total) => progress.setTotal(total),
      () => {
        // A walk that fails is reported by the backup itself.
      },
    );
}
