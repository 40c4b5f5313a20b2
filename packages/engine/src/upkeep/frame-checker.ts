/**
 * Checks data frames for verification: a worker opens each frame and compares every block with the block list and the ids
 * of the catalog. Each frame is checked once per run, however many snapshots need it.
 */

import type { FrameRow } from "../catalog/catalog.ts";
import { decodeBlockList } from "../format/block-list.ts";
import type { FrameReader } from "../restore/frame-reader.ts";
import { DamageError } from "../restore/frame-reader.ts";
import type { ReadableVault } from "../vault.ts";
import { noFiles } from "../workers/restore-job.ts";
import type { RestoreWorkerPool } from "../workers/restore-worker-pool.ts";

const noPieces = new Float64Array(0);

/** Without threads, frames are opened one after the other; the next ones are read meanwhile. */
const leastParallelReads = 4;

export interface FrameCheckerOptions {
  readonly vault: ReadableVault;
  readonly reader: FrameReader;
  readonly pool: RestoreWorkerPool;
  readonly onChecked: () => void;
}

export class FrameChecker {
  readonly #options: FrameCheckerOptions;
  /** The results so far: the damage, or null for an intact frame. */
  readonly #results = new Map<number, DamageError | null>();

  /** Sealed bytes of the frames that were given to `checkAll`. */
  #bytes = 0;

  constructor(options: FrameCheckerOptions) {
    this.#options = options;
  }

  /** The number of frames that were checked. */
  get count(): number {
    return this.#results.size;
  }

  /** Checks frames in parallel, as many at a time as the pool takes. */
  async checkAll(rows: readonly FrameRow[]): Promise<void> {
    const { pool } = this.#options;
    const unchecked = rows.filter(({ frame }) => !this.#results.has(frame));
    // Many small nights have little each.
    this.#bytes += unchecked.reduce((sum, { length }) => sum + length, 0);
    pool.startThreadsFor(this.#bytes);
    const active = new Set<Promise<unknown>>();
    const all: Promise<unknown>[] = [];
    for (const row of unchecked) {
      while (active.size >= Math.max(leastParallelReads, pool.maxParallelJobs)) await Promise.race(active);
      const work = this.#checkNow(row.frame, row).finally(() => active.delete(work));
      // The promise is awaited below. This handler only keeps Node from reporting an unhandled rejection before that.
      work.catch(() => undefined);
      active.add(work);
      all.push(work);
    }
    await Promise.all(all);
  }

  /** Checks a frame, or returns the earlier result. Null: the frame is intact. */
  async check(frame: number): Promise<DamageError | null> {
    const known = this.#results.get(frame);
    if (known === null || (known !== undefined && (await this.#isCurrent(known)))) return known;
    return this.#checkNow(frame);
  }

  /** Whether the catalog still has the version of the frame that was damaged. */
  async #isCurrent({ version }: DamageError): Promise<boolean> {
    if (version === null) return false;
    const [row] = await this.#options.vault.catalog.framePlaces([version.frame]);
    return row?.pack === version.pack && row.generation === version.generation;
  }

  async #checkNow(frame: number, found?: FrameRow): Promise<DamageError | null> {
    const result = await this.#readNow(frame, found);
    this.#results.set(frame, result);
    this.#options.onChecked();
    return result;
  }

  /** Gives a frame to a worker. If it is intact and had a damage mark, the mark is removed. */
  async #readNow(frame: number, found?: FrameRow): Promise<DamageError | null> {
    const { pool, vault, reader } = this.#options;
    try {
      const { row, bytes } = await reader.sealedFrame(frame, found);
      if (row.kind !== "data") return new DamageError(row, "not a data frame");
      const { ids, lengths } = decodeBlockList(row.blockList);
      const { key, binding } = await reader.frameKey(row, bytes);
      const toCheck = {
        offset: 0,
        length: bytes.length,
        key,
        binding,
        ids,
        hashBlocks: true,
        pieces: noPieces,
        lengths,
      };
      const { blockIdKey } = vault.keys;
      const { damagedFrames } = await pool.run({ ...noFiles, sealed: bytes, blockIdKey, frames: [toCheck] });
      const [damage] = damagedFrames;
      if (damage !== undefined) return new DamageError(row, damage.message);
      if (row.damaged) await vault.catalog.setDamaged([row], false);
      return null;
    } catch (error) {
      if (error instanceof DamageError) return error;
      throw error;
    }
  }
}
