/**
 * Feeds the restore workers: takes the plan of a window, reads its frames in the order of the store, neighbours in one
 * request, and gives each stretch to a worker. Says what became of the window's files.
 */

import type { FrameVersion, SnapshotRow } from "../../catalog/catalog.ts";
import type { Vault } from "../../vault.ts";
import type { Finish, FrameTask, RestoreJob } from "../../workers/restore-job.ts";
import { packFiles, packPieces } from "../../workers/restore-job.ts";
import type { RestoreWorkerPool } from "../../workers/restore-worker-pool.ts";
import type { FrameReader } from "../frame-reader.ts";
import { DamageError } from "../frame-reader.ts";
import type { FramePlan, Piece, PlannedFile, WindowPlan } from "../window.ts";
import { HashingPolicy } from "./hashing-policy.ts";

/** Sealed bytes read in one request. With some in every thread's line this is most of a restore's memory. */
const maxStretchBytes = 4 * 1024 * 1024;

/** Bytes written by one job: highly compressed frames would else keep one thread busy while the others wait. */
const maxJobBytes = 16 * 1024 * 1024;

/** Bytes between two frames that are read and thrown away rather than asked for around. */
const maxGapBytes = 64 * 1024;

/** Windows of no more than this are hashed whole: that takes milliseconds, as does asking who wrote the snapshot. */
const alwaysProvedBytes = 8 * 1024 * 1024;

export interface FileFailure {
  readonly reason: string;
  /** Damage in the store, or a refusal of the file system restored to. */
  readonly kind: "damage" | "file";
  readonly pack: string | null;
}

/** What became of the files of a window, by their places in it. */
export interface WrittenWindow {
  readonly failed: Map<number, FileFailure>;
  /** Frames that turned out damaged. */
  readonly damaged: ReadonlyMap<number, FrameVersion>;
  /** Files that no frame is needed for: the caller makes them. */
  readonly frameless: ReadonlySet<number>;
}

export interface FrameFetcherOptions {
  readonly vault: Vault;
  readonly reader: FrameReader;
  readonly pool: RestoreWorkerPool;
  readonly snapshot: SnapshotRow;
  /** Hash every block, whoever sealed it. */
  readonly proveAll: boolean;
  readonly finishOf: (file: PlannedFile, hole: boolean) => Finish;
}

/** A window on its way. */
interface Window {
  readonly files: readonly PlannedFile[];
  readonly holes: ReadonlySet<number>;
  readonly left: Int32Array<SharedArrayBuffer>;
  readonly failed: Map<number, FileFailure>;
  readonly damaged: Map<number, FrameVersion>;
  /** Every block is hashed, whoever sealed it. */
  readonly proved: boolean;
}

export class FrameFetcher {
  readonly #options: FrameFetcherOptions;
  readonly #active = new Set<Promise<void>>();
  readonly #vouching: HashingPolicy;

  constructor(options: FrameFetcherOptions) {
    this.#options = options;
    this.#vouching = new HashingPolicy(options.vault, options.snapshot);
  }

  /** Resolves once every frame is with a worker, with a promise of the outcome: the next window may start by then. */
  async start(plan: WindowPlan, files: readonly PlannedFile[]): Promise<{ readonly written: Promise<WrittenWindow> }> {
    const { counts, left } = framesLeft(plan, files.length);
    const bytes = plan.frames.reduce((sum, { pieces }) => sum + bytesOf(pieces), 0);
    const proved = this.#options.proveAll || bytes <= alwaysProvedBytes;
    const window: Window = { files, holes: plan.holes, left, failed: new Map(), damaged: new Map(), proved };
    for (const [file, reason] of plan.failed) window.failed.set(file, { reason, kind: "damage", pack: null });
    const frameless = new Set(files.keys().filter((file) => (counts[file] ?? 0) === 0));
    const own: Promise<void>[] = [];
    for (const stretch of stretchesOf(plan.frames)) {
      while (this.#active.size >= this.#options.pool.width) await Promise.race(this.#active);
      const work = this.#stretch(stretch, window).finally(() => this.#active.delete(work));
      this.#active.add(work);
      own.push(work);
    }
    const written = Promise.all(own).then(() => ({ failed: window.failed, damaged: window.damaged, frameless }));
    // Whoever waits for it hears of a failure; until then it is nobody's unhandled one.
    written.catch(() => undefined);
    return { written };
  }

  async #stretch(plans: readonly FramePlan[], window: Window): Promise<void> {
    const wanted = plans
      .map((plan) => ({ ...plan, pieces: plan.pieces.filter(({ file }) => !window.failed.has(file)) }))
      .filter(({ pieces }) => pieces.length > 0);
    const [first, last] = [wanted[0], wanted.at(-1)];
    if (first === undefined || last === undefined) return;
    const sealed = await this.#options.reader.span(first.row, last.row);
    if (sealed !== null) return this.#write(wanted, sealed, first.row.offset, window);
    // Gone or cut short: each frame by itself, since it may have moved, and to name the one that is wrong.
    for (const plan of wanted) {
      try {
        const { row, bytes } = await this.#options.reader.sealed(plan.row.frame);
        await this.#write([{ ...plan, row }], bytes, row.offset, window);
      } catch (error) {
        if (!(error instanceof DamageError)) throw error;
        blame(window, plan, error.message, error.mark);
      }
    }
  }

  /** Has frames written whose sealed bytes are here; `base` is where these start in the pack. */
  async #write(plans: readonly FramePlan[], sealed: Uint8Array, base: number, window: Window): Promise<void> {
    const { pool, vault, finishOf } = this.#options;
    const opened: FramePlan[] = [];
    const frames: FrameTask[] = [];
    for (const plan of plans) {
      const task = await this.#task(plan, sealed, base, window).catch((error: unknown) => {
        if (!(error instanceof DamageError)) throw error;
        blame(window, plan, error.message, error.mark);
        return null;
      });
      if (task === null) continue;
      opened.push(plan);
      frames.push(task);
    }
    if (frames.length === 0) return;
    const files = packFiles(opened, (number) => {
      const file = window.files[number];
      if (file === undefined) throw new Error("a piece of an unknown file");
      return { path: file.path, finish: finishOf(file, window.holes.has(number)) };
    });
    const job: Omit<RestoreJob, "job"> = {
      sealed,
      blockIdKey: vault.keys.blockIdKey,
      frames,
      files,
      left: window.left,
    };
    const { damaged, refused } = await pool.run(job);
    for (const { frame, message } of damaged) {
      const plan = opened[frame];
      if (plan !== undefined) blame(window, plan, message, plan.row);
    }
    for (const { file, message } of refused)
      if (!window.failed.has(file)) window.failed.set(file, { reason: message, kind: "file", pack: null });
  }

  async #task(plan: FramePlan, sealed: Uint8Array, base: number, { proved }: Window): Promise<FrameTask> {
    const { row, ids, pieces, verified } = plan;
    const offset = row.offset - base;
    const { key, binding } = await this.#options.reader.keyFor(row, sealed.subarray(offset, offset + row.length));
    const prove = proved || !(verified || (await this.#vouching.trusts(row.session)));
    return { offset, length: row.length, key, binding, ids, prove, pieces: packPieces(pieces), lengths: null };
  }
}

/** `mark` is the version that was met; null where the catalog has none any more. */
function blame({ failed, damaged }: Window, { pieces }: FramePlan, reason: string, mark: FrameVersion | null): void {
  const pack = mark?.pack ?? null;
  for (const { file } of pieces) if (!failed.has(file)) failed.set(file, { reason, kind: "damage", pack });
  if (mark !== null) damaged.set(mark.frame, { frame: mark.frame, pack: mark.pack, generation: mark.generation });
}

/** How many frames each file is written from, and a copy that workers share. */
function framesLeft(plan: WindowPlan, files: number) {
  const counts = new Int32Array(files);
  for (const { pieces } of plan.frames) {
    let last = -1;
    for (const { file } of pieces) {
      if (file !== last) counts[file] = (counts[file] ?? 0) + 1;
      last = file;
    }
  }
  const left = new Int32Array(new SharedArrayBuffer(counts.byteLength));
  left.set(counts);
  return { counts, left };
}

/** Frames that are read and written together: neighbours in one pack. */
function* stretchesOf(frames: readonly FramePlan[]): Generator<FramePlan[]> {
  let stretch: FramePlan[] = [];
  let bytes = 0;
  for (const frame of frames) {
    const written = bytesOf(frame.pieces);
    if (stretch.length > 0 && !(joins(stretch, frame) && bytes + written <= maxJobBytes)) {
      yield stretch;
      stretch = [];
      bytes = 0;
    }
    stretch.push(frame);
    bytes += written;
  }
  if (stretch.length > 0) yield stretch;
}

function bytesOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { bytes }) => sum + bytes, 0);
}

function joins(stretch: readonly FramePlan[], { row }: FramePlan): boolean {
  const [first, last] = [stretch[0]?.row, stretch.at(-1)?.row];
  if (first === undefined || last === undefined || first.pack !== row.pack) return false;
  const gap = row.offset - last.offset - last.length;
  return gap >= 0 && gap <= maxGapBytes && row.offset + row.length - first.offset <= maxStretchBytes;
}
