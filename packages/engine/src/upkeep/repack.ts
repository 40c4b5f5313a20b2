/**
 * Relaying: keeps restores fast and space free as nights go by. Blocks of the newest snapshots that lie badly
 * (`repack-plan.ts`) are laid down again side by side, in the order of their segments: such a segment gets a new recipe, all
 * others keep theirs. Then packs that are mostly dead are written anew (`rewrite-packs.ts`).
 *
 * Only adds, then replaces recipes in one step of the catalog. What is laid down again may become the only copy: every
 * block is proved against the id that the catalog has for it. A frame that fails is marked as damaged and stays where it is,
 * for healing.
 */

import type { Item, SnapshotRow } from "../catalog/catalog.ts";
import { sameBytes } from "../format/bytes.ts";
import type { Recipe } from "../format/recipe.ts";
import { encodeRecipe, framesOf, RecipeBuilder } from "../format/recipe.ts";
import { FrameReader } from "../restore/frame-reader.ts";
import type { SegmentBlocks } from "../restore/resolve-segments.ts";
import { resolveItems } from "../restore/resolve-segments.ts";
import type { Vault } from "../vault.ts";
import type { ProvedBlock } from "./copy-blocks.ts";
import { DataFrameWriter, hooksIn, provedFrame } from "./copy-blocks.ts";
import { markLive } from "./liveness.ts";
import type { MovingSegment } from "./repack-plan.ts";
import { movingSegments, storedBlocks } from "./repack-plan.ts";
import { rewritePacks } from "./rewrite-packs.ts";
import type { UpkeepSession } from "./upkeep-session.ts";
import { packsUnit, rowsOf, withUpkeepSession } from "./upkeep-session.ts";

/** Packs with more than this share dead are worth writing again. */
const wastefulShare = 0.5;

/**
 * Moved bytes, and segments, of one step: what a crash repeats, and what is in memory. The more, the fewer frames are
 * opened in two steps: a night's frame has blocks from all over a database.
 */
const bytesPerStep = 64 * 1024 * 1024;
const segmentsPerStep = 1024;

export interface RepackReport {
  readonly segments: number;
  readonly rewrittenPacks: readonly string[];
  /** Packs whose rewriting was given up because an upload needed them. */
  readonly refusedPacks: readonly string[];
}

/** What was done so far. */
export interface RepackProgress {
  readonly framesRead: number;
  readonly segments: number;
  readonly packs: number;
}

type Report = (done: Partial<RepackProgress>) => void;

/** Upkeep of a vault: the newest snapshots' layout, then wasteful packs. */
export async function repack(vault: Vault, onProgress?: (progress: RepackProgress) => void): Promise<RepackReport> {
  const done = { framesRead: 0, segments: 0, packs: 0 };
  const report: Report = (more) => {
    done.framesRead += more.framesRead ?? 0;
    done.segments += more.segments ?? 0;
    done.packs += more.packs ?? 0;
    onProgress?.(done);
  };
  const newest = new Map<string, SnapshotRow>();
  for (const row of await vault.catalog.snapshots()) newest.set(row.source, row);
  const segments = await moveSegments(vault, newest.values(), report);
  const { rewritten, refused } = await rewritePacks(vault, wastefulShare, () => report({ packs: 1 }));
  return { segments, rewrittenPacks: rewritten, refusedPacks: refused };
}

/** Lays what lies badly of these snapshots down again. Returns of how many segments. */
async function moveSegments(vault: Vault, snapshots: Iterable<SnapshotRow>, report: Report): Promise<number> {
  const reach = markLive([...snapshots].map((snapshot) => snapshot.reach));
  let relaid = 0;
  let step: MovingSegment[] = [];
  let bytes = 0;
  const take = async () => {
    const segments = step;
    step = [];
    bytes = 0;
    if (segments.length === 0) return;
    relaid += await withUpkeepSession(vault, (session) => moveStep(vault, session, segments, report));
  };
  for await (const segment of movingSegments(vault.catalog, reach)) {
    step.push(segment);
    bytes += movedBytes(segment);
    if (bytes >= bytesPerStep || step.length >= segmentsPerStep) await take();
  }
  await take();
  return relaid;
}

/** About what a segment adds to a step. */
function movedBytes({ recipe, moves }: MovingSegment): number {
  let bytes = 0;
  for (const run of recipe)
    if (run.kind === "stored")
      for (let i = 0; i < run.count; i++) if (moves(run.frame, run.slot + i)) bytes += run.bytes / run.count;
  return bytes;
}

/** A segment whose recipe was shown to give its id while all its frames were pinned. */
interface PinnedSegment extends MovingSegment {
  readonly proved: SegmentBlocks;
}

async function moveStep(
  vault: Vault,
  session: UpkeepSession,
  segments: readonly MovingSegment[],
  report: Report,
): Promise<number> {
  const pinned = await pin(vault, session, segments);
  const blocks = await provedBlocks(vault, pinned, report);
  const frames = new DataFrameWriter(session);
  const layer = new BlockMover(frames, blocks);
  const items: Item[] = [];
  for (const segment of pinned) {
    const runs = layer.lay(segment);
    if (runs === null) continue;
    const { item, proved } = segment;
    const recipe = encodeRecipe(runs);
    const hooks = hooksIn(proved);
    const record = session.putRecord({ kind: "segment", ordinal: item.ordinal, id: item.id, recipe, hooks });
    items.push({ ...item, recipe, record });
    report({ segments: 1 });
    await session.room();
  }
  frames.flush();
  const { packs, header } = await session.settle();
  if (items.length === 0) return 0;
  const unit = { ...packsUnit(session, packs, header), frames: rowsOf(session, packs, frames.records), items };
  await vault.catalog.addUnit(session.upload, vault.ctx.now(), unit);
  return items.length;
}

/**
 * Pins what is read and what new recipes go on naming, like any upload would, and only then looks at the recipes again:
 * one that somebody has replaced since may name slots that are gone. Blocks that stay are not read, so a recipe must give
 * its segment by the block lists; one that does not is left alone.
 */
async function pin(
  vault: Vault,
  session: UpkeepSession,
  segments: readonly MovingSegment[],
): Promise<readonly PinnedSegment[]> {
  const sources = [...new Set(segments.flatMap(({ recipe }) => framesOf(recipe)))];
  const answers = await vault.catalog.acquireFrames(session.upload, sources);
  const usable = new Set(sources.filter((_, i) => answers[i] === true));
  const now = await vault.catalog.itemsByOrdinal(segments.map(({ item }) => item.ordinal));
  const sound = segments.filter(
    ({ item, recipe }, i) =>
      sameBytes(now[i]?.recipe ?? new Uint8Array(0), item.recipe) &&
      framesOf(recipe).every((frame) => usable.has(frame)),
  );
  const proofs = await resolveItems(
    vault.catalog,
    vault.keys.blockIdKey,
    sound.map(({ item }) => item),
  );
  return sound.flatMap((segment, i) => {
    const proved = proofs[i];
    return proved === undefined || typeof proved === "string" ? [] : [{ ...segment, proved }];
  });
}

/** Blocks by frame and slot. A slot that is not what the catalog says is missing, and its frame is damaged. */
type Blocks = ReadonlyMap<number, ReadonlyMap<number, ProvedBlock>>;

/** Copies of all blocks that move; each frame is opened once. */
async function provedBlocks(vault: Vault, segments: readonly MovingSegment[], report: Report): Promise<Blocks> {
  const wanted = new Map<number, Set<number>>();
  for (const { recipe, moves } of segments)
    for (const [frame, slot] of storedBlocks(recipe)) {
      if (!moves(frame, slot)) continue;
      const slots = wanted.get(frame) ?? new Set();
      if (slots.size === 0) wanted.set(frame, slots);
      slots.add(slot);
    }
  const reader = new FrameReader(vault);
  const proved = new Map<number, Map<number, ProvedBlock>>();
  for (const [frame, slots] of [...wanted].sort(([a], [b]) => a - b)) {
    const opened = await provedFrame(vault, reader, frame);
    const found = new Map<number, ProvedBlock>();
    for (const slot of slots) {
      const block = opened.get(slot);
      if (block !== null) found.set(slot, { id: block.id, block: Buffer.from(block.block) });
    }
    if (found.size < slots.size && opened.row !== null) await vault.catalog.setDamaged([opened.row], true);
    proved.set(frame, found);
    report({ framesRead: 1 });
  }
  return proved;
}

/** Lays blocks down one after the other; one that several segments share, once. */
class BlockMover {
  readonly #frames: DataFrameWriter;
  readonly #blocks: Blocks;
  readonly #laid = new Map<ProvedBlock, { readonly frame: number; readonly slot: number }>();

  constructor(frames: DataFrameWriter, blocks: Blocks) {
    this.#frames = frames;
    this.#blocks = blocks;
  }

  /** A recipe with the moved blocks at their new places; null where one of them is damaged. */
  lay({ recipe, moves, proved: { lengths } }: PinnedSegment): Recipe | null {
    const isWhole = storedBlocks(recipe).every(
      ([frame, slot]) => !moves(frame, slot) || this.#blocks.get(frame)?.has(slot) === true,
    );
    if (!isWhole) return null;
    const laid = new RecipeBuilder();
    let at = 0;
    for (const run of recipe) {
      for (let i = 0; i < run.count; i++) {
        const bytes = lengths[at++] ?? 0;
        if (run.kind === "zeros") laid.zeros(bytes);
        else if (!moves(run.frame, run.slot + i)) laid.stored(run.frame, run.slot + i, bytes);
        else {
          const place = this.#place(run.frame, run.slot + i);
          laid.stored(place.frame, place.slot, bytes);
        }
      }
    }
    return laid.take();
  }

  #place(frame: number, slot: number): { readonly frame: number; readonly slot: number } {
    const proved = this.#blocks.get(frame)?.get(slot);
    if (proved === undefined) throw new Error("a block that was not proved");
    const place = this.#laid.get(proved) ?? this.#frames.add(proved.id, proved.block);
    this.#laid.set(proved, place);
    return place;
  }
}
