/**
 * The cut jobs of one upload: which worker has which job, the results so far, and when a worker can take another job.
 * The first error fails every job, because a backup is either complete or fails.
 */

import { blockIdLength, idLength } from "../format/hash.ts";
import type { SegmentReference } from "../format/tree-entry.ts";
import type { FrameAppend } from "../packing/frame-class.ts";
import { releaseFrameBuffer } from "../packing/shared-frame-buffers.ts";
import type { CutJob, FileOutcome, FileRange, FromWorker, Portion, WorkerSession } from "./cut-messages.ts";
import type { CutWorkerPool } from "./cut-worker-pool.ts";
import type { PageLayout } from "./cutter/page-files.ts";

/**
 * What a worker may have of one upload: two stripes, one being cut and one waiting, or six bundles. A bundle is cut in
 * milliseconds, so several of them wait for answers, and more with a lookahead.
 */
const loadPerWorker = 6;
const loadOf = { stripe: 3, bundle: 1 } as const;

export type JobPlan = (
  | { readonly kind: "bundle"; readonly files: readonly FileRange[] }
  | { readonly kind: "stripe"; readonly file: FileRange; readonly at: number; readonly pageLayout: PageLayout | null }
) & {
  /** Ordinals of the segments that the previous version had at these bytes of the job. */
  oldSegmentsAt(offset: number, bytes: number): readonly number[];
};

/** One file of a bundle: its first block within the bundle, its hash, and the ids and lengths of its blocks. */
export interface PartResult extends FileOutcome {
  readonly first: number;
  readonly hash: Uint8Array;
  readonly ids: Uint8Array;
  readonly lengths: Uint32Array;
}

/** The result of a job: its segments; for a bundle its files, for a stripe how reading ended. */
export interface CutResult {
  readonly segments: readonly SegmentReference[];
  readonly parts: readonly PartResult[];
  readonly outcome: FileOutcome | null;
}

interface OpenJob {
  readonly plan: JobPlan;
  readonly workerIndex: number;
  readonly segments: SegmentReference[];
  readonly resolve: (result: CutResult) => void;
  readonly reject: (error: unknown) => void;
  /** Bytes in portions before the current one. */
  bytes: number;
  /** Ordinal of the last segment so far, or 0. */
  previous: number;
}

export class CutJobQueue {
  readonly #pool: CutWorkerPool;
  readonly #clientId: number;
  readonly #jobs = new Map<number, OpenJob>();
  /** Jobs whose last portion has not come. */
  readonly #cutting = new Set<number>();
  readonly #load: number[];
  readonly #loadOf: Readonly<Record<JobPlan["kind"], number>>;
  readonly #loadPerWorker: number;
  readonly #waiting: (() => void)[] = [];
  #nextJob = 1;
  #pendingSeals = 0;
  #failure: unknown = null;

  constructor(pool: CutWorkerPool, lookahead: number, onMessage: (workerIndex: number, message: FromWorker) => void) {
    this.#pool = pool;
    this.#loadOf = { stripe: loadOf.stripe * lookahead, bundle: loadOf.bundle };
    this.#loadPerWorker = loadPerWorker * lookahead;
    this.#load = pool.workers.map(() => 0);
    this.#clientId = pool.addClient({
      onMessage: (workerIndex, message) => {
        if (this.#failure !== null) {
          // The frame is not stored any more. The worker and its shared buffers are used by several backups.
          if (message.type === "sealed") releaseFrameBuffer(message.bytes);
          return;
        }
        if (message.type === "portion" && message.portion.last) this.#cutting.delete(message.portion.job);
        onMessage(workerIndex, message);
        if (message.type === "failed") this.fail(this.#jobError(message.job, message.message));
        if (message.type === "sealed") {
          this.#pendingSeals--;
          this.#notify();
        }
      },
      onFailure: (error) => this.fail(error),
    });
  }

  /** Whether a worker has a job of which the last portion has not come. */
  get isCutting(): boolean {
    return this.#cutting.size > 0;
  }

  /** Opens the session in every worker. */
  openSession(session: (workerIndex: number) => Omit<WorkerSession, "clientId">): void {
    for (const [workerIndex, { send }] of this.#pool.workers.entries()) {
      send({ type: "open", session: { ...session(workerIndex), clientId: this.#clientId } });
    }
  }

  /**
   * Waits until a worker can take a job, then sends it. The result is inside an object, because awaiting a promise of a
   * promise would await both.
   */
  async submit(plan: JobPlan): Promise<{ readonly done: Promise<CutResult> }> {
    const load = this.#loadOf[plan.kind];
    let workerIndex = this.#leastLoaded();
    while ((this.#load[workerIndex] ?? 0) + load > this.#loadPerWorker) {
      await this.#waitForChange();
      workerIndex = this.#leastLoaded();
    }
    this.#throwFailure();
    const job = this.#nextJob++;
    this.#load[workerIndex] = (this.#load[workerIndex] ?? 0) + load;
    const result = new Promise<CutResult>((resolve, reject) => {
      this.#jobs.set(job, { plan, workerIndex, segments: [], resolve, reject, bytes: 0, previous: 0 });
    });
    result.catch(() => {
      // The caller may await the result much later. Until then a failure must not count as unhandled.
    });
    this.#cutting.add(job);
    this.#send(workerIndex, { type: "cut", clientId: this.#clientId, job: workerJob(job, plan) });
    return { done: result };
  }

  job(number: number): OpenJob {
    const job = this.#jobs.get(number);
    if (job === undefined) throw new Error(`unknown job ${number}`);
    return job;
  }

  /** Answers a portion: sends the worker its appends, and adds the portion's segments to the job. */
  append(workerIndex: number, portion: Portion, appends: readonly FrameAppend[], ordinals: readonly number[]): void {
    this.#pendingSeals += appends.filter(({ seal }) => seal).length;
    this.#send(workerIndex, { type: "append", clientId: this.#clientId, portion: portion.portion, appends });
    const job = this.job(portion.job);
    let block = 0;
    for (const [i, count] of portion.segments.entries()) {
      let bytes = 0;
      for (let k = block; k < block + count; k++) bytes += portion.lengths[k] ?? 0;
      const id = Buffer.from(portion.segmentIds.subarray(i * idLength, (i + 1) * idLength));
      job.segments.push({ ordinal: ordinals[i] ?? 0, id, bytes });
      job.bytes += bytes;
      job.previous = ordinals[i] ?? 0;
      block += count;
    }
    if (portion.last) this.#finish(portion, job);
  }

  /** Waits until every job is done. */
  async waitForJobs(): Promise<void> {
    while (this.#jobs.size > 0) await this.#waitForChange();
    this.#throwFailure();
  }

  /** Makes every worker seal its open frames. */
  seal(appendsOf: (workerIndex: number) => readonly FrameAppend[]): void {
    for (const workerIndex of this.#pool.workers.keys()) {
      const appends = appendsOf(workerIndex);
      this.#pendingSeals += appends.length;
      if (appends.length > 0)
        this.#send(workerIndex, { type: "append", clientId: this.#clientId, portion: 0, appends });
    }
  }

  /** Waits for all frames that are being sealed. */
  async waitForSeals(): Promise<void> {
    while (this.#pendingSeals > 0) await this.#waitForChange();
    this.#throwFailure();
  }

  fail(error: unknown): void {
    this.#failure ??= error;
    for (const { reject } of this.#jobs.values()) reject(error);
    this.#jobs.clear();
    this.#cutting.clear();
    this.#pendingSeals = 0;
    this.#load.fill(0);
    while (this.#waiting.length > 0) this.#notify();
  }

  close(): void {
    this.#pool.removeClient(this.#clientId);
  }

  #finish(portion: Portion, job: OpenJob): void {
    this.#jobs.delete(portion.job);
    this.#load[job.workerIndex] = (this.#load[job.workerIndex] ?? 0) - this.#loadOf[job.plan.kind];
    const outcome = job.plan.kind === "stripe" ? (portion.outcomes[0] ?? null) : null;
    job.resolve({ segments: job.segments, parts: job.plan.kind === "bundle" ? partsOf(portion) : [], outcome });
    this.#notify();
  }

  #leastLoaded(): number {
    return this.#load.reduce((best, load, workerIndex) => (load < (this.#load[best] ?? 0) ? workerIndex : best), 0);
  }

  #send(workerIndex: number, message: Parameters<CutWorkerPool["workers"][number]["send"]>[0]): void {
    this.#pool.workers[workerIndex]?.send(message);
  }

  #jobError(job: number, message: string): Error {
    const plan = this.#jobs.get(job)?.plan;
    return new CutJobError(plan?.kind === "stripe" ? plan.file.path : null, message);
  }

  async #waitForChange(): Promise<void> {
    this.#throwFailure();
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#throwFailure();
  }

  #notify(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure;
  }
}

/** A job failed in its worker. `path`: the file, if the job was a stripe. */
export class CutJobError extends Error {
  override readonly name = "CutJobError";
  readonly path: Uint8Array | null;

  constructor(path: Uint8Array | null, message: string) {
    super(message);
    this.path = path;
  }
}

function workerJob(job: number, plan: JobPlan): CutJob {
  return plan.kind === "bundle"
    ? { kind: "bundle", job, files: plan.files }
    : { kind: "stripe", job, file: plan.file, at: plan.at, pageLayout: plan.pageLayout };
}

function partsOf(portion: Portion): PartResult[] {
  let first = 0;
  return portion.outcomes.map((outcome, i) => {
    const end = first + outcome.blocks;
    const part = {
      ...outcome,
      first,
      hash: Buffer.from(portion.hashes.subarray(i * idLength, (i + 1) * idLength)),
      ids: portion.ids.subarray(first * blockIdLength, end * blockIdLength),
      lengths: portion.lengths.subarray(first, end),
    };
    first = end;
    return part;
  });
}
