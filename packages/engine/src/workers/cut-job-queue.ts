/**
 * The jobs that are with workers: who does what, what came back, and when there is room for more. Fails as a whole: the
 * first error ends every job, since a backup is either complete or not at all.
 */

import { idLength } from "../format/hash.ts";
import type { SegmentReference } from "../format/tree-entry.ts";
import type { FileOutcome, FileRange, FromWorker, Job, Portion, TakeOp, WorkerSession } from "./cut-messages.ts";
import type { CutWorkerPool } from "./cut-worker-pool.ts";
import type { PageShape } from "./cutter/page-files.ts";
import { releaseArea } from "./frame-areas.ts";

/** Jobs per worker: one being cut and one waiting, so that no worker idles while the pipeline thinks. */
const jobsPerLane = 2;

export type JobPlan = (
  | { readonly kind: "bundle"; readonly files: readonly FileRange[] }
  | { readonly kind: "stripe"; readonly file: FileRange; readonly at: number; readonly shape: PageShape | null }
) & {
  /** Ordinals of what the previous version had at these bytes of the job. */
  hintsAt(offset: number, bytes: number): readonly number[];
};

/** How one file of a bundle lies in it. */
export interface PartResult extends FileOutcome {
  readonly first: number;
  readonly hash: Uint8Array;
}

/** A cut job: its segments, and of a bundle its files. */
export interface CutResult {
  readonly segments: readonly SegmentReference[];
  readonly parts: readonly PartResult[];
  readonly outcome: FileOutcome | null;
}

interface OpenJob {
  readonly plan: JobPlan;
  readonly lane: number;
  readonly segments: SegmentReference[];
  readonly resolve: (result: CutResult) => void;
  readonly reject: (error: unknown) => void;
  /** Bytes in portions before the current one, and the ordinal of the last segment. */
  bytes: number;
  previous: number;
}

export class CutJobQueue {
  readonly #pool: CutWorkerPool;
  readonly #route: number;
  readonly #jobs = new Map<number, OpenJob>();
  readonly #load: number[];
  readonly #waiting: (() => void)[] = [];
  #nextJob = 1;
  #sealsDue = 0;
  #failure: unknown = null;

  constructor(pool: CutWorkerPool, heard: (lane: number, message: FromWorker) => void) {
    this.#pool = pool;
    this.#load = pool.lanes.map(() => 0);
    this.#route = pool.join({
      heard: (lane, message) => {
        if (this.#failure !== null) {
          // Nobody stores it any more, but the pool and its workers' areas outlive this session.
          if (message.type === "sealed") releaseArea(message.bytes);
          return;
        }
        heard(lane, message);
        if (message.type === "failed") this.fail(this.#readError(message.job, message.message));
        if (message.type === "sealed") {
          this.#sealsDue--;
          this.#wake();
        }
      },
      died: (error) => this.fail(error),
    });
  }

  open(session: (lane: number) => Omit<WorkerSession, "route">): void {
    for (const [lane, { send }] of this.#pool.lanes.entries()) {
      send({ type: "open", session: { ...session(lane), route: this.#route } });
    }
  }

  /** Waits for a free place, then hands the job out. (A promise of a promise would be one promise, hence `done`.) */
  async submit(plan: JobPlan): Promise<{ readonly done: Promise<CutResult> }> {
    let lane = this.#idlest();
    while ((this.#load[lane] ?? 0) >= jobsPerLane) {
      await this.#change();
      lane = this.#idlest();
    }
    this.#check();
    const job = this.#nextJob++;
    this.#load[lane] = (this.#load[lane] ?? 0) + 1;
    const result = new Promise<CutResult>((resolve, reject) => {
      this.#jobs.set(job, { plan, lane, segments: [], resolve, reject, bytes: 0, previous: 0 });
    });
    result.catch(() => {
      // The caller may look at the result much later; until then a failure is no unhandled one.
    });
    this.#send(lane, { type: "cut", route: this.#route, job: workerJob(job, plan) });
    return { done: result };
  }

  job(number: number): OpenJob {
    const job = this.#jobs.get(number);
    if (job === undefined) throw new Error(`unknown job ${number}`);
    return job;
  }

  /** Tells a worker what to take, and notes the portion's segments. */
  take(lane: number, portion: Portion, ops: readonly TakeOp[], ordinals: readonly number[]): void {
    this.#sealsDue += ops.filter(({ seal }) => seal).length;
    this.#send(lane, { type: "take", route: this.#route, portion: portion.portion, ops });
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

  /** Resolves when every job is done. */
  async idle(): Promise<void> {
    while (this.#jobs.size > 0) await this.#change();
    this.#check();
  }

  /** Has every worker seal its open frames, and waits for all sealed frames. */
  async flush(ops: (lane: number) => readonly TakeOp[]): Promise<void> {
    for (const lane of this.#pool.lanes.keys()) {
      const due = ops(lane);
      this.#sealsDue += due.length;
      if (due.length > 0) this.#send(lane, { type: "take", route: this.#route, portion: 0, ops: due });
    }
    while (this.#sealsDue > 0) await this.#change();
    this.#check();
  }

  fail(error: unknown): void {
    this.#failure ??= error;
    for (const { reject } of this.#jobs.values()) reject(error);
    this.#jobs.clear();
    this.#sealsDue = 0;
    this.#load.fill(0);
    while (this.#waiting.length > 0) this.#wake();
  }

  close(): void {
    this.#pool.leave(this.#route);
  }

  #finish(portion: Portion, job: OpenJob): void {
    this.#jobs.delete(portion.job);
    this.#load[job.lane] = (this.#load[job.lane] ?? 1) - 1;
    const outcome = job.plan.kind === "stripe" ? (portion.outcomes[0] ?? null) : null;
    job.resolve({ segments: job.segments, parts: job.plan.kind === "bundle" ? partsOf(portion) : [], outcome });
    this.#wake();
  }

  #idlest(): number {
    return this.#load.reduce((best, load, lane) => (load < (this.#load[best] ?? 0) ? lane : best), 0);
  }

  #send(lane: number, message: Parameters<CutWorkerPool["lanes"][number]["send"]>[0]): void {
    this.#pool.lanes[lane]?.send(message);
  }

  #readError(job: number, message: string): Error {
    const plan = this.#jobs.get(job)?.plan;
    return new FileReadError(plan?.kind === "stripe" ? plan.file.path : null, message);
  }

  async #change(): Promise<void> {
    this.#check();
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#check();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #check(): void {
    if (this.#failure !== null) throw this.#failure;
  }
}

/** A worker could not read a large file to its end. */
export class FileReadError extends Error {
  override readonly name = "FileReadError";
  readonly path: Uint8Array | null;

  constructor(path: Uint8Array | null, message: string) {
    super(message);
    this.path = path;
  }
}

function workerJob(job: number, plan: JobPlan): Job {
  return plan.kind === "bundle"
    ? { kind: "bundle", job, files: plan.files }
    : { kind: "stripe", job, file: plan.file, at: plan.at, shape: plan.shape };
}

function partsOf(portion: Portion): PartResult[] {
  let first = 0;
  return portion.outcomes.map((outcome, i) => {
    const part = { ...outcome, first, hash: Buffer.from(portion.hashes.subarray(i * idLength, (i + 1) * idLength)) };
    first += outcome.blocks;
    return part;
  });
}
