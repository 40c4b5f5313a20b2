/**
 * Fetches the frames of a window and gives them to the restore workers.
 *
 * In: the plan of a window. Frames are read in the order of packs and offsets. Adjacent frames of a pack are a *group*: they
 * are read in one request and given to one worker as one job. Out: which files failed, and which frames are damaged.
 */

import type { FrameVersion } from "../../catalog/catalog.ts";
import type { FinalAttributes, JobFrame, RestoreJob } from "../../workers/restore-job.ts";
import { encodeFileTable, encodePieces } from "../../workers/restore-job.ts";
import type { RestoreWorkerPool } from "../../workers/restore-worker-pool.ts";
import { groupAdjacent, sealedBytesOf } from "../frame-groups.ts";
import type { FrameReader } from "../frame-reader.ts";
import { DamageError } from "../frame-reader.ts";
import type { FrameKey, ReadPort } from "../read-port.ts";
import type { FramePlan, PlannedFile, WindowPlan } from "../window.ts";

export interface FileFailure {
  readonly reason: string;
  /** `damage`: in the store. `file`: the file system of the target refused. */
  readonly kind: "damage" | "file";
  readonly pack: string | null;
}

/** The result of a window. Files are named by their position in the window. */
export interface WrittenWindow {
  readonly failed: Map<number, FileFailure>;
  /** Frames that are damaged, by their number. */
  readonly damaged: ReadonlyMap<number, FrameVersion>;
  /** Frames with wrong blocks that no file of the window needs. */
  readonly impure: ReadonlySet<number>;
  /** Files without a stored block. No worker makes them: the caller does. */
  readonly withoutBlocks: ReadonlySet<number>;
}

export interface FrameFetcherOptions {
  readonly port: ReadPort;
  readonly reader: FrameReader;
  readonly pool: RestoreWorkerPool;
  /** Hash every block, also verified ones. */
  readonly hashAll: boolean;
  readonly attributesOf: (file: PlannedFile, endsInHole: boolean) => FinalAttributes;
  /** No further frames are fetched after it. */
  readonly signal?: AbortSignal | undefined;
}

/** A window whose frames are being fetched. */
interface Window {
  readonly files: readonly PlannedFile[];
  readonly endsInZeros: ReadonlySet<number>;
  readonly framesLeft: Int32Array<SharedArrayBuffer>;
  readonly failed: Map<number, FileFailure>;
  readonly damaged: Map<number, FrameVersion>;
  readonly impure: Set<number>;
}

export class FrameFetcher {
  readonly #options: FrameFetcherOptions;
  readonly #active = new Set<Promise<void>>();

  constructor(options: FrameFetcherOptions) {
    this.#options = options;
  }

  /**
   * Resolves when every frame of the window has been given to a worker. The next window may start then. `written` resolves
   * when the workers are done.
   */
  async start(plan: WindowPlan, files: readonly PlannedFile[]): Promise<{ readonly written: Promise<WrittenWindow> }> {
    const { counts, framesLeft } = countFrames(plan, files.length);
    const window: Window = {
      files,
      endsInZeros: plan.endsInZeros,
      framesLeft,
      failed: new Map(),
      damaged: new Map(),
      impure: new Set(),
    };
    for (const [file, reason] of plan.failed) window.failed.set(file, { reason, kind: "damage", pack: null });
    const withoutBlocks = new Set(files.keys().filter((file) => (counts[file] ?? 0) === 0));
    const groups: Promise<void>[] = [];
    for (const group of groupAdjacent(plan.frames, writtenBytes)) {
      while (this.#active.size >= this.#options.pool.maxParallelJobs) await Promise.race(this.#active);
      this.#options.signal?.throwIfAborted();
      const work = this.#fetchGroup(group, window).finally(() => this.#active.delete(work));
      work.catch(() => {
        // `written` rejects with it, if this loop comes to its end.
      });
      this.#active.add(work);
      groups.push(work);
    }
    const { failed, damaged, impure } = window;
    const written = Promise.all(groups).then(() => ({ failed, damaged, impure, withoutBlocks }));
    // The caller awaits `written` later. This handler only keeps Node from reporting an unhandled rejection before that.
    written.catch(() => undefined);
    return { written };
  }

  async #fetchGroup(plans: readonly FramePlan[], window: Window): Promise<void> {
    const wanted = plans
      .map((plan) => ({ ...plan, pieces: plan.pieces.filter(({ file }) => !window.failed.has(file)) }))
      .filter(({ pieces }) => pieces.length > 0);
    const [first, last] = [wanted[0], wanted.at(-1)];
    if (first === undefined || last === undefined) return;
    const sealed = await this.#options.reader.sealedRange(first.row, last.row);
    if (sealed !== null) return this.#write(wanted, sealed, first.row.offset, window);
    // The pack is missing or too short. Each frame is read alone: it may have moved, and the damaged one is found.
    for (const plan of wanted) {
      try {
        const { row, bytes } = await this.#options.reader.sealedFrame(plan.row.frame);
        await this.#write([{ ...plan, row }], bytes, row.offset, window);
      } catch (error) {
        if (!(error instanceof DamageError)) throw error;
        failFiles(window, plan, error.message, error.version);
      }
    }
  }

  /** Gives frames to a worker. `sealed` holds their bytes; `base` is the offset of `sealed` in the pack. */
  async #write(plans: readonly FramePlan[], sealed: Uint8Array, base: number, window: Window): Promise<void> {
    const { pool, port, attributesOf } = this.#options;
    const opened: FramePlan[] = [];
    const frames: JobFrame[] = [];
    const fetched = plans.map(({ row }) => ({ row, sealed: sealedBytesOf(row, sealed, base) }));
    for (const [i, key] of (await this.#options.reader.frameKeys(fetched)).entries()) {
      const plan = plans[i];
      if (plan === undefined) continue;
      if (key instanceof DamageError) failFiles(window, plan, key.message, key.version);
      else {
        opened.push(plan);
        frames.push(this.#jobFrame(plan, key, base));
      }
    }
    if (frames.length === 0) return;
    const files = encodeFileTable(opened, (number) => {
      const file = window.files[number];
      if (file === undefined) throw new Error("a piece of an unknown file");
      return { path: file.path, attributes: attributesOf(file, window.endsInZeros.has(number)) };
    });
    const job: Omit<RestoreJob, "job"> = {
      sealed,
      blockIdKey: port.keys.blockIdKey,
      frames,
      files,
      framesLeft: window.framesLeft,
    };
    const { damagedFrames, impureFrames, failedFiles } = await pool.run(job);
    for (const at of impureFrames) window.impure.add(opened[at]?.row.frame ?? 0);
    for (const { frame, message } of damagedFrames) {
      const plan = opened[frame];
      if (plan !== undefined) failFiles(window, plan, message, plan.row);
    }
    for (const { file, message } of failedFiles)
      if (!window.failed.has(file)) window.failed.set(file, { reason: message, kind: "file", pack: null });
  }

  /** Blocks that were never read back are hashed: a bit may have flipped between hashing and sealing. */
  #jobFrame(
    { row, ids, lengths, pieces, verified, verifies }: FramePlan,
    { key, binding }: FrameKey,
    base: number,
  ): JobFrame {
    return {
      offset: row.offset - base,
      length: row.length,
      key,
      binding,
      ids,
      hashBlocks: this.#options.hashAll || !verified,
      pieces: encodePieces(pieces),
      // Other clients use every slot of a frame with verified segments, so the others are hashed too.
      lengths: verifies ? lengths : null,
    };
  }
}

/** Records a damaged frame and fails the files that need it. `version` is null if the catalog has no such frame. */
function failFiles(
  { failed, damaged }: Window,
  { pieces }: FramePlan,
  reason: string,
  version: FrameVersion | null,
): void {
  const pack = version?.pack ?? null;
  for (const { file } of pieces) if (!failed.has(file)) failed.set(file, { reason, kind: "damage", pack });
  if (version !== null)
    damaged.set(version.frame, { frame: version.frame, pack: version.pack, generation: version.generation });
}

/** Counts the frames that each file is written from. `framesLeft` is a copy that the workers share and count down. */
function countFrames(plan: WindowPlan, files: number) {
  const counts = new Int32Array(files);
  for (const { pieces } of plan.frames) {
    let last = -1;
    for (const { file } of pieces) {
      if (file !== last) counts[file] = (counts[file] ?? 0) + 1;
      last = file;
    }
  }
  const framesLeft = new Int32Array(new SharedArrayBuffer(counts.byteLength));
  framesLeft.set(counts);
  return { counts, framesLeft };
}

function writtenBytes({ pieces }: FramePlan): number {
  return pieces.reduce((sum, { bytes }) => sum + bytes, 0);
}
