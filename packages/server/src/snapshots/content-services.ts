/**
 * What snapshots keep open in a process: the spool of uploads, the worker threads that cut and that open frames, and the
 * uploads in one call that this process receives. Handlers get it as `ctx.services.snapshots`.
 */

import { mkdir, readdir, rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import path from "node:path";
import { CutWorkerPool, RestoreWorkerPool } from "@emanet/engine";
import { Spool } from "../archives/index.ts";
import type { Config } from "../config.ts";
import type { DataFolder } from "../kernel/data-folder.ts";
import { errorFields, type Log } from "../kernel/log.ts";
import type { Transactions, Tx } from "../kernel/tx.ts";
import { doneWithin } from "../kernel/within.ts";
import type { Vaults } from "../vaults/index.ts";
import { catalogListeners } from "./catalog-listeners.ts";
import { PackMemory } from "./pack-memory.ts";
import { Places } from "./places.ts";
import { heartbeatMs } from "./rules.ts";
import { SharedReaders } from "./shared-readers.ts";
import { keepAlive } from "./store.ts";
import { type TransferCounts, transferMetrics } from "./transfer-metrics.ts";

/** More threads than this only take memory: the object store and the database are then what limits. */
const maxThreads = 8;

/** An upload that is cut holds up to two packs of 16 MiB and the buffers of its cut jobs. */
const backupPlaces = { inAll: 4, perAccount: 2 };

/** A large download holds about 16 MiB (`shared-readers.ts`), for as long as its client takes. */
const readPlaces = { inAll: 24, perAccount: 8 };

/** How long a stop waits for uploads that it has ended. */
const stopWaitMs = 10_000;

const ownerOnlyFolder = 0o700;

export interface SnapshotServices {
  readonly spool: Spool;
  readonly packMemory: PackMemory;
  readonly cutPool: CutWorkerPool;
  readonly readPool: RestoreWorkerPool;
  readonly readers: SharedReaders;
  /** Uploads that are being cut. */
  readonly backups: Places;
  /** Large downloads that are being read. */
  readonly reads: Places;
  readonly counts: TransferCounts;
  /** For steps that go on when their request has ended. */
  readonly transactions: Transactions;
  /** Runs an upload in one call: it counts as alive until it ends. */
  receive<T>(id: string, work: (live: LiveUpload) => Promise<T>): Promise<T>;
}

/** An upload in one call that this process receives. */
export interface LiveUpload {
  /** Aborts when the service stops. */
  readonly stopping: AbortSignal;
  /** Called in the transaction that completes the snapshot. */
  onCompleted: ((tx: Tx) => Promise<void>) | null;
}

declare module "../kernel/domain-services.ts" {
  interface Services {
    readonly snapshots: SnapshotServices;
  }
}

interface Sources {
  readonly config: Pick<Config, "spoolDir" | "spoolGib" | "spoolGibPerAccount">;
  readonly folder: DataFolder;
  readonly processId: number;
  readonly transactions: Transactions;
  readonly vaults: Vaults;
  readonly log: Log;
  readonly metrics: Parameters<typeof transferMetrics>[0];
  readonly onStop: (stop: () => Promise<unknown>) => void;
}

export async function openSnapshots(sources: Sources): Promise<SnapshotServices> {
  const { transactions, vaults, log, onStop } = sources;
  const live = new LiveUploads(transactions, log);
  vaults.listen(catalogListeners);
  // After the row has become `completed`.
  vaults.listen({ committed: (tx, { upload }) => live.completed(tx, upload) });
  const spool = await openSpool(sources);
  onStop(() => spool.remove());
  const threads = Math.min(maxThreads, availableParallelism());
  const cutPool = new CutWorkerPool(threads);
  const readPool = new RestoreWorkerPool(threads);
  onStop(() => Promise.all([cutPool.close(), readPool.close()]));
  const readers = new SharedReaders(readPool);
  onStop(async () => readers.close());
  onStop(() => live.stop());
  const services = {
    ...{ spool, cutPool, readPool, readers, transactions },
    packMemory: new PackMemory(),
    backups: new Places(backupPlaces),
    reads: new Places(readPlaces),
    receive: <T>(id: string, work: (upload: LiveUpload) => Promise<T>) => live.run(id, work),
  };
  return { ...services, counts: transferMetrics(sources.metrics, services) };
}

/**
 * Each process has a folder of its own, named by its number, so that processes of one machine can share the setting. What
 * processes left that do not run any more is removed. In the data folder, which is locked, everything is of dead processes,
 * also where a new process has the number of a dead one.
 */
async function openSpool({ config, folder, processId }: Sources): Promise<Spool> {
  const parent = config.spoolDir ?? folder.path("spool");
  await mkdir(parent, { recursive: true, mode: ownerOnlyFolder });
  for (const name of await readdir(parent))
    if (processFolder.test(name) && (config.spoolDir === null || !isRunning(Number(name))))
      await rm(path.join(parent, name), { recursive: true, force: true });
  const limits = { totalBytes: config.spoolGib * gibibyte, ownerBytes: config.spoolGibPerAccount * gibibyte };
  return Spool.open(path.join(parent, String(processId)), limits);
}

const processFolder = /^\d+$/;
const gibibyte = 2 ** 30;

function isRunning(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    // A process of another user runs too.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** The uploads in one call of this process. */
class LiveUploads {
  readonly #transactions: Transactions;
  readonly #log: Log;
  readonly #running = new Map<string, { readonly upload: LiveUpload; readonly ended: Promise<unknown> }>();
  readonly #stopping = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(transactions: Transactions, log: Log) {
    this.#transactions = transactions;
    this.#log = log;
    this.#timer = setInterval(() => void this.#beat(), heartbeatMs).unref();
  }

  async run<T>(id: string, work: (live: LiveUpload) => Promise<T>): Promise<T> {
    const upload: LiveUpload = { stopping: this.#stopping.signal, onCompleted: null };
    const ended = work(upload);
    this.#running.set(id, { upload, ended });
    try {
      return await ended;
    } finally {
      this.#running.delete(id);
    }
  }

  /** The snapshot is completed in this transaction. */
  async completed(tx: Tx, id: string): Promise<void> {
    await this.#running.get(id)?.upload.onCompleted?.(tx);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort(new Error("the service stops"));
    await doneWithin(stopWaitMs, Promise.allSettled([...this.#running.values()].map(({ ended }) => ended)));
  }

  async #beat(): Promise<void> {
    if (this.#running.size === 0) return;
    const context = { actor: { kind: "system" }, context: {}, signal: new AbortController().signal } as const;
    try {
      await this.#transactions.run(context, { kind: "system" }, (tx) => keepAlive(tx, [...this.#running.keys()]));
    } catch (error) {
      // The next one may succeed. After several the uploads count as interrupted.
      this.#log.warn("upload_heartbeat_failed", errorFields(error));
    }
  }
}
