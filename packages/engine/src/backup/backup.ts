/**
 * A backup from end to end: walks a source, reuses what the cache knows, has the rest cut and stored, builds the tree in
 * walk order and completes the snapshot.
 *
 * The walk runs ahead of the workers by a bounded queue; the tree is built from the queue's head. Because directories
 * are left before their parents go on, one stack of open directories is all the tree ever holds.
 */

import type { FileCache } from "../cache/file-cache.ts";
import type { Retention, SnapshotRow, UploadStart } from "../catalog/catalog.ts";
import { CatalogError } from "../catalog/catalog.ts";
import type { EngineContext } from "../context.ts";
import { Bitmap } from "../format/bitmap.ts";
import { hex } from "../format/bytes.ts";
import type { BackupWarning } from "../format/manifest.ts";
import { draftManifest } from "../format/manifest.ts";
import type { OpenSession } from "../format/session-header.ts";
import { startSession } from "../format/session-header.ts";
import type { Signer } from "../format/signing.ts";
import { noRetention } from "../format/snapshot.ts";
import type { WriterKeys } from "../format/vault-keys.ts";
import type { BackupSource, QuickStats, SourceEvent } from "../source/source.ts";
import type { CutWorkerPool } from "../workers/cut-worker-pool.ts";
import { FileScheduler } from "./file-scheduler.ts";
import { LazyUpload } from "./lazy-upload.ts";
import { TreeWriter } from "./tree-writer.ts";
import type { UploadSettings } from "./upload.ts";
import type { UploadTarget } from "./upload-target.ts";

/** Entries of a quick walk between two pauses for other work. */
const entriesPerTurn = 256;

export interface BackupProgress {
  readonly files: number;
  readonly bytes: number;
  readonly storedBytes: number;
}

export interface BackupOptions {
  readonly ctx: EngineContext;
  readonly keys: WriterKeys;
  readonly signer: Signer;
  readonly target: UploadTarget;
  readonly pool: CutWorkerPool;
  readonly source: BackupSource;
  /** The source's name: gives snapshots their lineage. */
  readonly sourceName: string;
  readonly owner: string;
  readonly cache?: FileCache | undefined;
  readonly retention?: Retention | undefined;
  readonly settings?: Partial<UploadSettings> | undefined;
  readonly onProgress?: ((progress: BackupProgress) => void) | undefined;
}

export interface BackupResult {
  readonly snapshot: SnapshotRow;
  readonly warnings: readonly BackupWarning[];
  /** Files whose content came from the cache. */
  readonly unchanged: number;
  /** Why the cache could not be kept; the snapshot is complete all the same. */
  readonly cacheError: Error | null;
}

/** Makes a snapshot of the source. Rejects without one when anything but a single file fails. */
export async function runBackup(options: BackupOptions): Promise<BackupResult> {
  const { ctx, target, cache } = options;
  const startedAt = ctx.now();
  let upload: LazyUpload | null = null;
  try {
    const { start, usable, increment } = await begin(target, cache ?? null);
    const session = startSession(ctx, options.keys, options.signer, start);
    upload = new LazyUpload({ ...options, session, increment });
    const stored = await store(options, session, upload, start, usable, startedAt);
    return { ...stored, cacheError: commitCache(cache ?? null, stored.snapshot.id, start.catalogId) };
  } catch (error) {
    cache?.rollback();
    await target.abandon().catch(() => {
      // The first error is the one to report; an upload that cannot be ended ends with its lease.
    });
    throw error;
  } finally {
    await upload?.close();
  }
}

/** The snapshot is made by now: a cache that cannot be kept costs the next backup time, and nothing else. */
function commitCache(cache: FileCache | null, snapshot: string, catalogId: number): Error | null {
  try {
    cache?.commit(snapshot, catalogId);
    return null;
  } catch (error) {
    cache?.rollback();
    return error instanceof Error ? error : new Error(String(error));
  }
}

interface Beginning {
  readonly start: UploadStart;
  /** Whether the cache's entries hold. */
  readonly usable: boolean;
  readonly increment: boolean;
}

async function begin(target: UploadTarget, cache: FileCache | null): Promise<Beginning> {
  const base = cache?.base ?? null;
  try {
    const start = await target.begin(base);
    return { start, usable: cache?.begin(base, start.catalogId) ?? false, increment: base !== null };
  } catch (error) {
    if (base === null || !(error instanceof CatalogError) || error.code !== "unknown_snapshot") throw error;
    const start = await target.begin(null);
    return { start, usable: cache?.begin(null, start.catalogId) ?? false, increment: false };
  }
}

/** Takes the entries of a quick walk. It waits only where there is something to wait for, and pauses for other work. */
async function takeQuickWalk(
  walk: Iterable<SourceEvent | QuickStats>,
  files: FileScheduler,
  report: () => void,
): Promise<void> {
  let sincePause = 0;
  const pause = async () => {
    sincePause = 0;
    report();
    await new Promise((resolve) => setImmediate(resolve));
  };
  for (const event of walk) {
    if (event.type !== "quick-stats") {
      await files.take(event);
      sincePause++;
    } else if (files.takeAll(event)) sincePause += event.count;
    else
      for (let i = 0; i < event.count; i++) {
        const step = files.takeQuick(event.file(i));
        if (step !== undefined) await step;
        if (++sincePause >= entriesPerTurn) await pause();
      }
    if (sincePause >= entriesPerTurn) await pause();
  }
}

async function store(
  options: BackupOptions,
  session: OpenSession,
  upload: LazyUpload,
  start: UploadStart,
  usable: boolean,
  startedAt: number,
): Promise<Omit<BackupResult, "cacheError">> {
  const { ctx, signer, source, sourceName, target } = options;
  const reach = new Bitmap();
  const tree = new TreeWriter(upload, reach, options.cache ?? null, startedAt, usable && start.damaged.length === 0);
  const files = new FileScheduler(upload, tree, usable ? new Set(start.damaged) : null);
  const report = () => options.onProgress?.({ files: tree.files, bytes: tree.bytes, storedBytes: upload.storedBytes });
  if (usable && source.quickWalk !== undefined) await takeQuickWalk(source.quickWalk(), files, report);
  else
    for await (const event of source.walk()) {
      await files.take(event);
      report();
    }
  const root = await files.finish();
  await upload.finish();
  report();
  const row: SnapshotRow = {
    id: hex(ctx.random(16)),
    source: sourceName,
    session: session.header.session,
    startedAt,
    completedAt: ctx.now(),
    rootOrdinal: root.ordinal,
    rootId: root.id,
    size: tree.bytes,
    files: tree.files,
    warnings: tree.warnings.length + tree.moreWarnings,
    storedBytes: upload.storedBytes,
    status: "completed",
    changes: 0,
    retention: options.retention ?? noRetention,
    reach: reach.encode(),
  };
  const manifest = draftManifest(session, signer, row, tree.warnings);
  const snapshot = await target.complete({ manifest, row });
  return { snapshot, warnings: tree.warnings, unchanged: files.unchanged };
}
