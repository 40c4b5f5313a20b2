/**
 * Repack: keeps restores fast and frees space after many backups.
 *
 * In: a vault. Out: how many segments got a new recipe, and which packs were rewritten. Two steps:
 * 1. Blocks of the newest snapshots that are scattered or in sparse frames (`repack-plan.ts`) are copied to new frames, in
 *    the order of their segments. Their segments get new recipes. No other recipe changes.
 * 2. Packs that are mostly dead are written again without their dead slots (`rewrite-packs.ts`).
 *
 * The threads of a pool, if there is one, open, check, compress and seal. A run moves and rewrites a limited number of bytes.
 * The next run does the rest: it makes a new plan, which has only what has not moved.
 *
 * Step 1 works in batches, each with a session. A batch pins all frames that it reads or names. It reads the moving blocks
 * and compares each with its id, because the copy may become the only one. It uploads the new packs. Then one step of the
 * catalog registers them and replaces the recipes. Nothing is deleted: prune deletes the old packs later.
 *
 * A backup, a restore or a prune may run at any time: pinned frames are not deleted, and a restore that read an old recipe
 * plans again. If repack is interrupted, batches that were registered stay; packs of the last batch are orphans, and prune
 * deletes them. A frame with a wrong block is marked as damaged and its segments are left as they are, for heal.
 */

import { allSnapshots } from "../catalog/all-snapshots.ts";
import type { Item } from "../catalog/catalog.ts";
import { Bitmap } from "../format/bitmap.ts";
import { sameBytes } from "../format/bytes.ts";
import type { Recipe } from "../format/recipe.ts";
import { encodeRecipe, framesOf, RecipeBuilder } from "../format/recipe.ts";
import { frameReaderOf } from "../restore/local-read-port.ts";
import type { SegmentBlocks } from "../restore/resolve-segments.ts";
import { resolveItems } from "../restore/resolve-segments.ts";
import type { Vault } from "../vault.ts";
import type { RestoreWorkerPool } from "../workers/restore-worker-pool.ts";
import type { CheckedBlock } from "./copy-blocks.ts";
import { DataFrameWriter, readCheckedBlocks, segmentHooks } from "./copy-blocks.ts";
import type { SegmentToRepack } from "./repack-plan.ts";
import { segmentsToRepack, storedBlocks } from "./repack-plan.ts";
import { rewritePacks } from "./rewrite-packs.ts";
import type { UpkeepSession } from "./upkeep-session.ts";
import { packsUnit, rowsOf, withUpkeepSession } from "./upkeep-session.ts";

/** Packs with a larger share of dead bytes are rewritten. */
const wastefulShare = 0.5;

/**
 * Limits of a batch: moved bytes, and segments. A batch is in memory, and an interruption repeats it. A frame with blocks of
 * two batches is read twice, so small batches cost more.
 */
const bytesPerBatch = 64 * 1024 * 1024;
const segmentsPerBatch = 1024;

/**
 * Bytes of blocks that one run moves, and bytes of packs that it rewrites. Enough for the weekly index rebuild of a database of
 * 5 GB, which moves half of its pages. A run takes minutes: a thread opens and seals about 100 MB/s.
 */
export const maxBytesPerRun = 4 * 1024 ** 3;

export interface RepackOptions {
  /** Opens and seals frames. Without it, the caller's thread does. */
  readonly pool?: RestoreWorkerPool | undefined;
  /** The default is `maxBytesPerRun`. */
  readonly maxBytes?: number | undefined;
}

export interface RepackReport {
  /** The number of segments that got a new recipe. */
  readonly segments: number;
  readonly rewrittenPacks: readonly string[];
  /** Packs that were not rewritten, because an upload needed them or a block is damaged. */
  readonly refusedPacks: readonly string[];
  /** False if the limit of a run was reached. The next run does the rest. */
  readonly isComplete: boolean;
}

/** The work done so far. */
export interface RepackProgress {
  readonly framesRead: number;
  readonly segments: number;
  readonly packs: number;
}

type ReportProgress = (more: Partial<RepackProgress>) => void;

/** Repacks the newest snapshot of every source, then rewrites wasteful packs. */
export async function repack(
  vault: Vault,
  onProgress?: (progress: RepackProgress) => void,
  { pool, maxBytes = maxBytesPerRun }: RepackOptions = {},
): Promise<RepackReport> {
  const done = { framesRead: 0, segments: 0, packs: 0 };
  const report: ReportProgress = (more) => {
    done.framesRead += more.framesRead ?? 0;
    done.segments += more.segments ?? 0;
    done.packs += more.packs ?? 0;
    onProgress?.(done);
  };
  const work: RepackWork = { vault, pool: pool ?? null, maxBytes, report };
  const moved = await repackSegments(work, await reachOfNewest(vault));
  const options = { pool, maxBytes, onPack: () => report({ packs: 1 }) };
  const { rewritten, refused, isComplete } = await rewritePacks(vault, wastefulShare, options);
  return {
    segments: moved.segments,
    rewrittenPacks: rewritten,
    refusedPacks: refused,
    isComplete: isComplete && moved.isComplete,
  };
}

interface RepackWork {
  readonly vault: Vault;
  readonly pool: RestoreWorkerPool | null;
  readonly maxBytes: number;
  readonly report: ReportProgress;
}

/** What the newest snapshot of every source reaches. */
async function reachOfNewest({ catalog }: Vault): Promise<Bitmap> {
  const newest = new Map<string, string>();
  for await (const { source, id } of allSnapshots(catalog)) newest.set(source, id);
  const reach = new Bitmap();
  for (const id of newest.values()) {
    const row = await catalog.snapshot(id);
    // It may have been deleted meanwhile.
    if (row !== null) reach.or(Bitmap.decode(row.reach));
  }
  return reach;
}

/** Repacks segments that are in `reach`, until the limit is reached. */
async function repackSegments(
  work: RepackWork,
  reach: Bitmap,
): Promise<{ readonly segments: number; readonly isComplete: boolean }> {
  const { vault, pool, maxBytes } = work;
  let repacked = 0;
  let batch: SegmentToRepack[] = [];
  let bytes = 0;
  let total = 0;
  const flush = async () => {
    const segments = batch;
    pool?.startThreadsFor(bytes);
    batch = [];
    bytes = 0;
    if (segments.length === 0) return;
    repacked += await withUpkeepSession(vault, (session) => repackBatch(work, session, segments), pool);
  };
  for await (const segment of segmentsToRepack(vault.catalog, reach)) {
    if (total >= maxBytes) {
      await flush();
      return { segments: repacked, isComplete: false };
    }
    batch.push(segment);
    const moved = movedBytes(segment);
    bytes += moved;
    total += moved;
    if (bytes >= bytesPerBatch || batch.length >= segmentsPerBatch) await flush();
  }
  await flush();
  return { segments: repacked, isComplete: true };
}

/** An estimate of the bytes that a segment adds to a batch. */
function movedBytes({ recipe, isMoved }: SegmentToRepack): number {
  let bytes = 0;
  for (const run of recipe)
    if (run.kind === "stored")
      for (let i = 0; i < run.count; i++) if (isMoved(run.frame, run.slot + i)) bytes += run.bytes / run.count;
  return bytes;
}

/** A segment whose frames are all pinned and whose recipe was resolved after that. */
interface PinnedSegment extends SegmentToRepack {
  readonly blocks: SegmentBlocks;
}

async function repackBatch(
  work: RepackWork,
  session: UpkeepSession,
  segments: readonly SegmentToRepack[],
): Promise<number> {
  const { vault, report } = work;
  const pinned = await pinSegments(vault, session, segments);
  const moved = await readMovedBlocks(work, pinned);
  const frames = new DataFrameWriter(session);
  const copier = new BlockCopier(frames, moved);
  const items: Item[] = [];
  for (const segment of pinned) {
    const copied = copier.copySegment(segment);
    if (copied === null) continue;
    const { item, blocks } = segment;
    const recipe = encodeRecipe(copied);
    const hooks = segmentHooks(blocks);
    const recordFrame = session.putRecord({ kind: "segment", ordinal: item.ordinal, id: item.id, recipe, hooks });
    items.push({ ...item, recipe, recordFrame });
    report({ segments: 1 });
    await session.waitForSpace();
  }
  frames.flush();
  const { packs, header } = await session.flush();
  if (items.length === 0) return 0;
  const unit = { ...packsUnit(session, packs, header), frames: rowsOf(session, packs, frames.records), items };
  await vault.catalog.addUnit(session.upload, vault.ctx.now(), unit);
  return items.length;
}

/**
 * Pins all frames of the segments, as an upload does, and then reads the recipes again. A segment is left out if its recipe
 * has changed, because the old one may name dropped slots. It is also left out if its recipe does not give its id: blocks
 * that stay are not read, so the block lists must be right.
 */
async function pinSegments(
  vault: Vault,
  session: UpkeepSession,
  segments: readonly SegmentToRepack[],
): Promise<readonly PinnedSegment[]> {
  const frames = [...new Set(segments.flatMap(({ recipe }) => framesOf(recipe)))];
  const answers = await vault.catalog.acquireFrames(session.upload, frames);
  const pinned = new Set(frames.filter((_, i) => answers[i] === true));
  const now = await vault.catalog.itemsByOrdinal(segments.map(({ item }) => item.ordinal));
  const unchanged = segments.filter(
    ({ item, recipe }, i) =>
      sameBytes(now[i]?.recipe ?? new Uint8Array(0), item.recipe) &&
      framesOf(recipe).every((frame) => pinned.has(frame)),
  );
  const items = unchanged.map(({ item }) => item);
  const resolved = await resolveItems(vault.catalog, vault.keys.blockIdKey, items);
  return unchanged.flatMap((segment, i) => {
    const blocks = resolved[i];
    return blocks === undefined || typeof blocks === "string" ? [] : [{ ...segment, blocks }];
  });
}

/** Blocks by frame and slot. A block that does not match its id is missing. */
type MovedBlocks = ReadonlyMap<number, ReadonlyMap<number, CheckedBlock>>;

/** Reads all blocks that move. Each frame is opened once. Frames with a wrong block are marked as damaged. */
async function readMovedBlocks(
  { vault, pool, report }: RepackWork,
  segments: readonly SegmentToRepack[],
): Promise<MovedBlocks> {
  const wanted = new Map<number, Set<number>>();
  for (const { recipe, isMoved } of segments)
    for (const [frame, slot] of storedBlocks(recipe)) {
      if (!isMoved(frame, slot)) continue;
      const slots = wanted.get(frame) ?? new Set();
      if (slots.size === 0) wanted.set(frame, slots);
      slots.add(slot);
    }
  const reader = frameReaderOf(vault);
  const blocks = new Map<number, ReadonlyMap<number, CheckedBlock>>();
  const read = async ([frame, slots]: [number, Set<number>]) => {
    const found = await readCheckedBlocks(vault, reader, frame, slots, pool);
    if (found.blocks.size < slots.size && found.row !== null) await vault.catalog.setDamaged([found.row], true);
    blocks.set(frame, found.blocks);
    report({ framesRead: 1 });
  };
  // As many readers as the pool runs jobs, so that no worker waits for the store.
  const frames = [...wanted].sort(([a], [b]) => a - b).values();
  const readAll = async () => {
    for (const each of frames) await read(each);
  };
  await Promise.all(Array.from({ length: pool?.maxParallelJobs ?? 1 }, readAll));
  return blocks;
}

/** Copies blocks to new frames, in the order of the segments. A block that several segments share is copied once. */
class BlockCopier {
  readonly #frames: DataFrameWriter;
  readonly #blocks: MovedBlocks;
  readonly #copies = new Map<CheckedBlock, { readonly frame: number; readonly slot: number }>();

  constructor(frames: DataFrameWriter, blocks: MovedBlocks) {
    this.#frames = frames;
    this.#blocks = blocks;
  }

  /** Copies the blocks of a segment that move and returns its new recipe; null if one of them is damaged. */
  copySegment({ recipe, isMoved, blocks: { lengths } }: PinnedSegment): Recipe | null {
    const isWhole = storedBlocks(recipe).every(
      ([frame, slot]) => !isMoved(frame, slot) || this.#blocks.get(frame)?.has(slot) === true,
    );
    if (!isWhole) return null;
    const built = new RecipeBuilder();
    let at = 0;
    for (const run of recipe) {
      for (let i = 0; i < run.count; i++) {
        const bytes = lengths[at++] ?? 0;
        if (run.kind === "zeros") built.zeros(bytes);
        else if (!isMoved(run.frame, run.slot + i)) built.stored(run.frame, run.slot + i, bytes);
        else {
          const copy = this.#copyBlock(run.frame, run.slot + i);
          built.stored(copy.frame, copy.slot, bytes);
        }
      }
    }
    return built.take();
  }

  #copyBlock(frame: number, slot: number): { readonly frame: number; readonly slot: number } {
    const block = this.#blocks.get(frame)?.get(slot);
    if (block === undefined) throw new Error("a block that was not checked");
    const copy = this.#copies.get(block) ?? this.#frames.add(block.id, block.bytes);
    this.#copies.set(block, copy);
    return copy;
  }
}
