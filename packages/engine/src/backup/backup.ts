/**
 * A backup from start to end. This is the main file of the folder. How a file gets into a snapshot:
 *   1. The source is walked (`source/`). For a file that is unchanged since the base snapshot, the file cache has the entry.
 *      The walk is a *quick walk* if the cache may be used: it yields quick stats of whole directories.
 *   2. `file-scheduler.ts` puts small files into bundles and large files into stripes (`bundles.ts`), which are cut jobs.
 *   3. Cutting workers read the jobs, cut them into blocks and group the blocks to segments (`workers/`).
 *   4. `upload.ts` asks the target which segments and blocks are stored (`upload-target.ts`; `local-target.ts` answers with
 *      the catalog, `matcher.ts` finds blocks). New blocks get a frame and a slot. Every new segment gets a recipe.
 *   5. Workers append new blocks to frames and seal full frames. `upload.ts` adds them to packs, stores the packs, and
 *      registers them in units (`packing/`; `check-unit.ts` checks a client's unit).
 *   6. `tree-writer.ts` waits for each file's segments in walk order and writes tree nodes, one open directory per level
 *      (`directory-writer.ts`). It adds every ordinal that the snapshot reaches to a bitmap.
 *   7. When everything is registered, the manifest is signed and the target completes the snapshot.
 *
 * The walk adds entries to a bounded queue, and the tree writer takes them from it. So the walk goes on while workers cut.
 * The tree writer holds the open directories of one path only, because the walk leaves a directory before it enters the next.
 */

import type { FileCache } from "../cache/file-cache.ts";
import type { Retention, SnapshotRow, UploadStart } from "../catalog/catalog.ts";
import { CatalogError } from "../catalog/catalog.ts";
import type { EngineContext } from "../context.ts";
import { Bitmap } from "../format/bitmap.ts";
import { hex } from "../format/bytes.ts";
import type { SnapshotDetails } from "../format/manifest.ts";
import { draftManifest } from "../format/manifest.ts";
import type { OpenSession } from "../format/session-header.ts";
import { startSession } from "../format/session-header.ts";
import { noRetention } from "../format/snapshot.ts";
import type { WriterKeys } from "../format/vault-keys.ts";
import type { BackupWarning } from "../format/warnings.ts";
import type { Writer } from "../format/writer-registration.ts";
import type { BackupSource, QuickStats, SourceEvent } from "../source/source.ts";
import type { CutWorkerPool } from "../workers/cut-worker-pool.ts";
import { WorkerDiedError } from "../workers/cut-worker-pool.ts";
import { abortableTarget } from "./abortable-target.ts";
import { FileScheduler } from "./file-scheduler.ts";
import { LazyUpload } from "./lazy-upload.ts";
import { TreeWriter } from "./tree-writer.ts";
import type { UploadSettings } from "./upload-settings.ts";
import type { UploadTarget } from "./upload-target.ts";
import { renewEveryMs } from "./upload-target.ts";

/** Entries of a quick walk between two pauses for other work. */
const entriesPerTurn = 256;

/** As often as a program that reads the progress expects it. */
const reportEveryMs = 1000;

export interface BackupProgress {
  readonly files: number;
  readonly bytes: number;
  readonly storedBytes: number;
}

export interface BackupOptions {
  readonly ctx: EngineContext;
  readonly keys: WriterKeys;
  readonly signer: Writer;
  readonly target: UploadTarget;
  readonly pool: CutWorkerPool;
  readonly source: BackupSource;
  /** The source's name. Snapshots of one source have the same. */
  readonly sourceName: string;
  readonly owner: string;
  /** The snapshot's id, 32 hexadecimal digits, where the caller has given it one before. Drawn if absent. */
  readonly snapshotId?: string | undefined;
  readonly cache?: FileCache | undefined;
  readonly retention?: Retention | undefined;
  /** What people and programs call the snapshot; sealed in its manifest. */
  readonly details?: SnapshotDetails | undefined;
  readonly settings?: Partial<UploadSettings> | undefined;
  readonly onProgress?: ((progress: BackupProgress) => void) | undefined;
  /** Ends the backup: it rejects with the signal's reason, stores nothing more and ends its upload. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called before anything is stored; resolves, when it may be, to a function that is called at the end. For programs that run several backups at the
   * same time: one that stores needs some ten megabytes, one that finds nothing changed needs next to nothing.
   */
  readonly waitToStore?: (() => Promise<() => void>) | undefined;
  /** Renews the lease. The system's timer if absent. */
  readonly repeat?: Repeat | undefined;
}

/** Calls `work` every `everyMs`; returns a function that stops it. */
export type Repeat = (everyMs: number, work: () => void) => () => void;

export interface BackupResult {
  readonly snapshot: SnapshotRow;
  readonly warnings: readonly BackupWarning[];
  /** Files that are unchanged according to the file cache: they were not read. */
  readonly unchanged: number;
  /** Why the file cache could not be written; the snapshot is complete. */
  readonly cacheError: Error | null;
}

/** Attempts after a thread of the pool has died. If it dies each time, a file of the source is the cause. */
const maxAttempts = 3;

/** How long an aborted backup waits for its upload to be ended. If the target does not answer, the lease ends it. */
const abandonMs = 5_000;

/**
 * Makes a snapshot of the source. A file that cannot be read is a warning; any other failure rejects. If a thread of the
 * pool dies, the backup begins again: what was registered is not stored twice. Where the target does not let an upload
 * begin again, it rejects with `WorkerDiedError`.
 */
export async function runBackup(options: BackupOptions): Promise<BackupResult> {
  let death: WorkerDiedError | null = null;
  for (let attempt = 1; ; attempt++) {
    try {
      return await runOnce(options);
    } catch (error) {
      if (death !== null && error instanceof CatalogError && error.code === "unknown_upload") throw death;
      if (!(error instanceof WorkerDiedError) || attempt >= maxAttempts) throw error;
      death = error;
    }
  }
}

async function runOnce(options: BackupOptions): Promise<BackupResult> {
  const { ctx, cache, signal } = options;
  signal?.throwIfAborted();
  const target = signal === undefined ? options.target : abortableTarget(options.target, signal);
  const startedAt = ctx.now();
  let upload: LazyUpload | null = null;
  let stopRenewing = () => {};
  const abort = () => upload?.fail(signal?.reason);
  signal?.addEventListener("abort", abort);
  try {
    const { start, useCache, hasBase } = await begin(target, cache ?? null);
    const session = startSession(ctx, options.keys, options.signer, start);
    stopRenewing = (options.repeat ?? byTimer)(renewEveryMs, () => {
      // If the upload has ended, `complete` reports it.
      target.renew().catch(() => undefined);
    });
    upload = new LazyUpload({ ...options, target, session, hasBase, ordinals: start.ordinals });
    const made = await makeSnapshot({ ...options, target }, session, upload, start, useCache, startedAt);
    return { ...made, cacheError: commitCache(cache ?? null, made.snapshot.id, start.catalogId) };
  } catch (error) {
    cache?.rollback();
    // The first error is reported. An upload that cannot be ended now expires with its lease.
    const ended = target.abandon().catch(() => undefined);
    await (signal?.aborted === true ? Promise.race([ended, pause(abandonMs)]) : ended);
    throw error;
  } finally {
    signal?.removeEventListener("abort", abort);
    stopRenewing();
    await upload?.close();
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}

/** A timer that does not keep the process alive. */
function byTimer(everyMs: number, work: () => void): () => void {
  const timer = setInterval(work, everyMs).unref();
  return () => clearInterval(timer);
}

/** The snapshot is complete here. Without a file cache the next backup only takes longer. */
function commitCache(cache: FileCache | null, snapshot: string, catalogId: number): Error | null {
  try {
    cache?.commit(snapshot, catalogId);
    return null;
  } catch (error) {
    cache?.rollback();
    return error instanceof Error ? error : new Error(String(error));
  }
}

interface BegunUpload {
  readonly start: UploadStart;
  /** Whether the file cache describes the base snapshot and may be used. */
  readonly useCache: boolean;
  readonly hasBase: boolean;
}

async function begin(target: UploadTarget, cache: FileCache | null): Promise<BegunUpload> {
  const base = cache?.base ?? null;
  try {
    const start = await target.begin(base);
    return { start, useCache: cache?.begin(base, start.catalogId) ?? false, hasBase: base !== null };
  } catch (error) {
    if (base === null || !(error instanceof CatalogError) || error.code !== "unknown_snapshot") throw error;
    const start = await target.begin(null);
    return { start, useCache: cache?.begin(null, start.catalogId) ?? false, hasBase: false };
  }
}

/** Takes the entries of a quick walk. It waits only where there is something to wait for, and pauses for other work. */
async function takeQuickWalk(
  walk: Iterable<SourceEvent | QuickStats>,
  files: FileScheduler,
  report: () => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  let sincePause = 0;
  const pause = async () => {
    sincePause = 0;
    report();
    await new Promise((resolve) => setImmediate(resolve));
    signal?.throwIfAborted();
  };
  for (const event of walk) {
    if (event.type !== "quick-stats") {
      await files.take(event);
      sincePause++;
    } else if (files.takeUnchangedDirectory(event)) sincePause += event.count;
    else
      for (let i = 0; i < event.count; i++) {
        const step = files.takeQuickStat(event.file(i));
        if (step !== undefined) await step;
        if (++sincePause >= entriesPerTurn) await pause();
      }
    if (sincePause >= entriesPerTurn) await pause();
  }
}

/** Walks the source and stores what is new. Returns the root directory. */
async function storeFiles(
  { source, signal }: BackupOptions,
  files: FileScheduler,
  upload: LazyUpload,
  useCache: boolean,
  report: () => void,
): ReturnType<FileScheduler["finish"]> {
  if (useCache && source.quickWalk !== undefined) await takeQuickWalk(source.quickWalk(), files, report, signal);
  else
    for await (const event of source.walk()) {
      signal?.throwIfAborted();
      await files.take(event);
      report();
    }
  const root = await files.finish();
  await upload.finish();
  return root;
}

/** Completes a snapshot of what the source has. */
async function makeSnapshot(
  options: BackupOptions,
  session: OpenSession,
  upload: LazyUpload,
  start: UploadStart,
  useCache: boolean,
  startedAt: number,
): Promise<Omit<BackupResult, "cacheError">> {
  const { ctx, signer, sourceName, target } = options;
  const reach = new Bitmap();
  const tree = new TreeWriter(upload, reach, options.cache ?? null, startedAt, useCache && start.damaged.length === 0);
  const files = new FileScheduler(upload, tree, useCache ? new Set(start.damaged) : null);
  const report = () => options.onProgress?.({ files: tree.files, bytes: tree.bytes, storedBytes: upload.storedBytes });
  // A large file, and what is sent at the end, take longer than from one entry of the walk to the next.
  const reports = options.onProgress === undefined ? undefined : setInterval(report, reportEveryMs).unref();
  const root = await storeFiles(options, files, upload, useCache, report).finally(() => clearInterval(reports));
  report();
  const row: SnapshotRow = {
    id: options.snapshotId ?? hex(ctx.random(16)),
    source: sourceName,
    session: session.header.session,
    startedAt,
    completedAt: ctx.now(),
    rootOrdinal: root.ordinal,
    rootId: root.id,
    size: tree.bytes,
    files: tree.files,
    warnings: tree.allWarnings.count,
    storedBytes: upload.storedBytes,
    status: "completed",
    changes: 0,
    retention: options.retention ?? noRetention,
    reach: reach.encode(),
  };
  const manifest = draftManifest(session, signer, row, { ...options.details, warnings: tree.allWarnings.encode() });
  const snapshot = await target.complete({ manifest, row });
  return { snapshot, warnings: tree.warnings, unchanged: files.unchanged };
}
