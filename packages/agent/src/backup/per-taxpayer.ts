/**
 * One snapshot for each taxpayer of an office, in one run: the snapshots are created by one call for up to 100 of them, then several
 * uploads run at the same time, while the next call creates more. A taxpayer whose backup fails does not stop the others.
 */

import type { BatchResult, CreatedSnapshot } from "@emanet/client/source";
import type { BackupResult, BackupSource } from "@emanet/engine/backup";
import { CutWorkerPool } from "@emanet/engine/backup";
import { OutdatedKeysError, RemoteTarget } from "@emanet/engine/remote";
import { preferSmallHeaps } from "@emanet/engine-cli";
import { patiently, uploadCalls } from "../api/calls.ts";
import type { Connection } from "../api/connection.ts";
import type { VaultWriter } from "../api/registration.ts";
import { ensureAgent, readKeysAgain, vaultWriters } from "../api/registration.ts";
import { reportVersion } from "../api/release.ts";
import type { AgentContext } from "../context.ts";
import { CommandFailure, exitCodes } from "../failure.ts";
import type { ProgressBar } from "../output/progress-bar.ts";
import { withLock } from "../state/locks.ts";
import { type SourceResult, storeResults } from "../state/source-results.ts";
import type { SnapshotWishes } from "./destination.ts";
import { packSpool } from "./pack-spool.ts";
import { engineBackup } from "./run-backup.ts";
import { openCache, serviceSettings } from "./service-destination.ts";

/**
 * Snapshots of one call. The API takes 300; uploads begin earlier with fewer, and a busy service answers in time. An account may make ten such calls in
 * a minute.
 */
const maxBatch = 100;

/** Taxpayers at the same time: enough to hide the delay of a line. */
const atOnce = 12;

/** Those of them that store something: each has a pack and open frames in memory. */
const storingAtOnce = 4;

export interface TaxpayerJob {
  readonly taxId: string;
  readonly source: BackupSource;
}

export interface TaxpayerOutcome {
  readonly taxId: string;
  readonly snapshotId: string | null;
  readonly result: BackupResult | null;
  /** Why there is none. */
  readonly error: unknown;
}

export interface TaxpayerRun {
  readonly connection: Connection;
  readonly wishes: SnapshotWishes;
  readonly jobs: readonly TaxpayerJob[];
  readonly threads: number;
  readonly readsAll: boolean;
  readonly progress: ProgressBar;
  readonly onOutcome: (outcome: TaxpayerOutcome) => void;
}

export async function backUpTaxpayers(context: AgentContext, run: TaxpayerRun): Promise<void> {
  const { connection, wishes } = run;
  const locked = await withLock(connection.folder, `backup ${wishes.source}`, async () => {
    const { id } = await ensureAgent(context, connection);
    const reported = reportVersion(context, connection, id);
    const pool = new CutWorkerPool(run.threads, preferSmallHeaps);
    const outcomes: TaxpayerOutcome[] = [];
    const noting = {
      ...run,
      onOutcome: (outcome: TaxpayerOutcome) => {
        outcomes.push(outcome);
        run.onOutcome(outcome);
      },
    };
    try {
      await backUpAll(context, noting, pool);
    } finally {
      const at = context.now();
      storeResults(
        connection.folder,
        outcomes.map((outcome) => resultOf(wishes, outcome, at)),
      );
      await pool.close();
    }
    await reported;
  });
  if (locked === null)
    throw new CommandFailure(`another backup of ${wishes.source} is running`, { exitCode: exitCodes.busy });
}

/** All taxpayers, and those again whose vault has got a newer key pair since this machine read its keys. */
async function backUpAll(context: AgentContext, run: TaxpayerRun, pool: CutWorkerPool): Promise<void> {
  const amounts = new Amounts(run.progress);
  const outdated: TaxpayerJob[] = [];
  const noting = (outcome: TaxpayerOutcome) => {
    const job = run.jobs.find(({ taxId }) => taxId === outcome.taxId);
    if (outcome.error instanceof OutdatedKeysError && job !== undefined) outdated.push(job);
    else run.onOutcome(outcome);
  };
  const shared = { pool, amounts, waitToStore: slots(storingAtOnce) };
  await backUpJobs(context, { ...run, onOutcome: noting }, shared);
  if (outdated.length === 0) return;
  await readKeysAgain(context, run.connection);
  await backUpJobs(context, { ...run, jobs: outdated }, shared);
}

/** Batch after batch. The next one is created while the one before is uploaded. */
async function backUpJobs(context: AgentContext, run: TaxpayerRun, shared: SharedByUploads): Promise<void> {
  const create = (at: number) => {
    const creating = createBatch(context, run, run.jobs.slice(at, at + maxBatch));
    // It is awaited after the uploads before it; Node would report a failure until then.
    creating.catch(() => undefined);
    return creating;
  };
  let next = create(0);
  for (let at = 0; at < run.jobs.length; at += maxBatch) {
    const batch = await next;
    if (at + maxBatch < run.jobs.length) next = create(at + maxBatch);
    await uploadBatch(context, run, batch, shared);
  }
}

interface SharedByUploads {
  readonly pool: CutWorkerPool;
  readonly amounts: Amounts;
  readonly waitToStore: () => Promise<() => void>;
}

/** Slots for so many at a time. Taking one resolves, in the order of the calls, to a function that gives it back. */
function slots(count: number): () => Promise<() => void> {
  let free = count;
  const waiting: (() => void)[] = [];
  return async () => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return () => {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    };
  };
}

interface CreatedBatch {
  readonly made: readonly { readonly job: TaxpayerJob; readonly snapshot: CreatedSnapshot }[];
  readonly writers: ReadonlyMap<string, VaultWriter>;
}

async function createBatch(
  context: AgentContext,
  run: TaxpayerRun,
  jobs: readonly TaxpayerJob[],
): Promise<CreatedBatch> {
  const { client } = run.connection;
  const { source, label, trigger, reference } = run.wishes;
  const items = jobs.map(({ taxId }) => ({
    ...{ source, trigger, tax_id: taxId },
    ...(label !== null && { label }),
    ...(reference !== null && { external_reference: reference }),
  }));
  const { results } = await client.snapshots.createBatch({ body: { items } }, patiently);
  const made = results.flatMap(({ index, snapshot }) => {
    const job = jobs[index];
    return job === undefined || snapshot === undefined ? [] : [{ job, snapshot }];
  });
  for (const result of results) if (result.snapshot === undefined) refuse(run, jobs[result.index], result);
  const writers = await vaultWriters(
    context,
    run.connection,
    made.map(({ snapshot }) => snapshot.vault_id),
  );
  return { made, writers };
}

async function uploadBatch(
  context: AgentContext,
  run: TaxpayerRun,
  { made, writers }: CreatedBatch,
  shared: SharedByUploads,
): Promise<void> {
  const next = made.values();
  const worker = async () => {
    for (const { job, snapshot } of next) {
      context.signal.throwIfAborted();
      const writer = writers.get(snapshot.vault_id);
      if (writer === undefined)
        await skip(run, job, snapshot, new CommandFailure("this agent may not write to its vault"));
      else await backUpOne(context, run, { job, snapshot, writer, ...shared });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

interface OneTaxpayer extends SharedByUploads {
  readonly job: TaxpayerJob;
  readonly snapshot: CreatedSnapshot;
  readonly writer: VaultWriter;
}

async function backUpOne(context: AgentContext, run: TaxpayerRun, one: OneTaxpayer): Promise<void> {
  const { connection, wishes } = run;
  const { job, snapshot, writer, pool, amounts, waitToStore } = one;
  const opened = openCache(context, connection, snapshot.source.id);
  const call = uploadCalls(connection.client, snapshot.id);
  try {
    const result = await engineBackup(context, {
      begun: {
        ...writer,
        target: new RemoteTarget({ ctx: context, call, pause: (ms) => context.wait(ms), spool: packSpool(context) }),
        // Other taxpayers are cut while one waits for answers.
        settings: { ...serviceSettings, lookahead: 1 },
        ...{ owner: snapshot.id, sourceName: snapshot.source.id, snapshotId: snapshot.id.replaceAll("-", "") },
        ...opened,
      },
      ...{ wishes, pool, source: job.source, readsAll: run.readsAll, waitToStore },
      onProgress: (progress) => amounts.report(job.taxId, progress),
    });
    run.onOutcome({ taxId: job.taxId, snapshotId: snapshot.id, result, error: null });
  } catch (error) {
    if (context.signal.aborted) throw error;
    run.onOutcome({ taxId: job.taxId, snapshotId: null, result: null, error });
  } finally {
    opened.cache?.close();
  }
}

/** A snapshot that was made and gets no content is canceled. */
async function skip(
  { connection, onOutcome }: TaxpayerRun,
  job: TaxpayerJob,
  { id }: CreatedSnapshot,
  error: Error,
): Promise<void> {
  // The service abandons it in any case, a day later.
  await connection.client.snapshots.cancel({ id }).catch(() => undefined);
  onOutcome({ taxId: job.taxId, snapshotId: null, result: null, error });
}

function refuse(run: TaxpayerRun, job: TaxpayerJob | undefined, { problem }: BatchResult): void {
  if (job === undefined) return;
  const isUnknown = problem?.errors?.some(({ pointer }) => pointer.endsWith("/tax_id")) === true;
  const message = isUnknown
    ? "the account has no taxpayer with this number"
    : `${problem?.title ?? "refused"}: ${problem?.detail ?? ""}`;
  run.onOutcome({ taxId: job.taxId, snapshotId: null, result: null, error: new CommandFailure(message) });
}

function resultOf(
  wishes: SnapshotWishes,
  { taxId, snapshotId, result, error }: TaxpayerOutcome,
  at: number,
): SourceResult {
  const { files = 0, size: bytes = 0, warnings = 0 } = result?.snapshot ?? {};
  const word = result === null ? "failed" : warnings === 0 ? "completed" : "completed_with_warnings";
  const message = error === null ? null : error instanceof Error ? error.message : String(error);
  return {
    ...{ source: `${wishes.source} ${taxId}`, paths: [], at, result: word, snapshotId },
    ...{ files, bytes, warnings, message },
  };
}

/** The progress of all taxpayers together. */
class Amounts {
  readonly #progress: ProgressBar;
  readonly #each = new Map<string, { readonly files: number; readonly bytes: number; readonly storedBytes: number }>();

  constructor(progress: ProgressBar) {
    this.#progress = progress;
  }

  report(
    taxId: string,
    amount: { readonly files: number; readonly bytes: number; readonly storedBytes: number },
  ): void {
    this.#each.set(taxId, amount);
    if (!this.#progress.isShown) return;
    const sum = (of: "files" | "bytes" | "storedBytes") =>
      this.#each.values().reduce((total, each) => total + each[of], 0);
    this.#progress.report({ files: sum("files"), bytes: sum("bytes"), newBytes: sum("storedBytes") });
  }
}
