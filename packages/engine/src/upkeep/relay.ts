/**
 * Relaying: keeps restores fast and space free as nights go by. Blocks of the newest snapshots that lie badly
 * (`relay-plan.ts`) are laid down again side by side, in the order of their segments: such a segment gets a new recipe, all
 * others keep theirs. Then packs that are mostly dead are written anew (`rewrite-packs.ts`).
 *
 * Only adds, then replaces recipes in one step of the index. What is laid down again may become the only copy: every
 * block is proved against the id that the index has for it. A frame that fails is marked as damaged and stays where it is,
 * for healing.
 */

import { hooksOf } from "../backup/matcher.ts";
import type { FrameDirectory } from "../frames/directory.ts";
import { slotId } from "../frames/directory.ts";
import { FrameReader } from "../frames/frame-reader.ts";
import type { Item, SnapshotRow } from "../index/port.ts";
import type { Recipe } from "../recipes.ts";
import { encodeRecipe, framesOf, RecipeBuilder } from "../recipes.ts";
import type { Vault } from "../vault.ts";
import type { ProvedBlock } from "./laid-frames.ts";
import { FrameMaker, provedFrame } from "./laid-frames.ts";
import type { MovingSegment } from "./relay-plan.ts";
import { directoriesOf, eachBlock, movingSegments } from "./relay-plan.ts";
import { rewritePacks } from "./rewrite-packs.ts";
import type { RewriteSession } from "./rewrite-session.ts";
import { packsUnit, rowsOf, withRewriteSession } from "./rewrite-session.ts";

/** Packs with more than this share dead are worth writing again. */
const wastefulShare = 0.5;

/**
 * Moved bytes, and segments, of one step: what a crash repeats, and what is in memory. The more, the fewer frames are
 * opened in two steps: a night's frame has blocks from all over a database.
 */
const bytesPerStep = 64 * 1024 * 1024;
const segmentsPerStep = 1024;

export interface RelayReport {
  readonly segments: number;
  readonly rewrittenPacks: readonly string[];
  /** Packs whose rewriting was given up because an upload needed them. */
  readonly refusedPacks: readonly string[];
}

/** What was done so far. */
export interface RelayProgress {
  readonly framesRead: number;
  readonly segments: number;
  readonly packs: number;
}

type Report = (done: Partial<RelayProgress>) => void;

const nobody: Report = () => {
  // Who does not ask hears nothing.
};

/** Upkeep of a vault: the newest snapshots' layout, then wasteful packs. */
export async function relay(vault: Vault, onProgress?: (progress: RelayProgress) => void): Promise<RelayReport> {
  const done = { framesRead: 0, segments: 0, packs: 0 };
  const report: Report = (more) => {
    done.framesRead += more.framesRead ?? 0;
    done.segments += more.segments ?? 0;
    done.packs += more.packs ?? 0;
    onProgress?.(done);
  };
  const newest = new Map<string, SnapshotRow>();
  for (const row of await vault.index.snapshots()) newest.set(row.source, row);
  let segments = 0;
  for (const row of newest.values()) segments += await relaySegments(vault, row, report);
  const { rewritten, refused } = await rewritePacks(vault, wastefulShare, () => report({ packs: 1 }));
  return { segments, rewrittenPacks: rewritten, refusedPacks: refused };
}

/** Lays what lies badly of a snapshot down again. Returns of how many segments. */
export async function relaySegments(vault: Vault, snapshot: SnapshotRow, report: Report = nobody): Promise<number> {
  let relaid = 0;
  let step: MovingSegment[] = [];
  let bytes = 0;
  const take = async () => {
    const segments = step;
    step = [];
    bytes = 0;
    if (segments.length > 0) await withRewriteSession(vault, (session) => relayStep(vault, session, segments, report));
    relaid += segments.length;
  };
  for await (const segment of movingSegments(vault.index, snapshot.reach)) {
    step.push(segment);
    bytes += movedBytes(segment);
    if (bytes >= bytesPerStep || step.length >= segmentsPerStep) await take();
  }
  await take();
  return relaid;
}

/** About what a segment adds to a step: runs move whole, nearly always. */
function movedBytes({ recipe, moves }: MovingSegment): number {
  return recipe.reduce((sum, run) => (run.kind === "stored" && moves(run.frame, run.slot) ? sum + run.bytes : sum), 0);
}

async function relayStep(
  vault: Vault,
  session: RewriteSession,
  segments: readonly MovingSegment[],
  report: Report,
): Promise<void> {
  // What is read, and what new recipes go on naming, must stay until they are registered: pin it like any upload would.
  const sources = [...new Set(segments.flatMap(({ recipe }) => framesOf(recipe)))];
  const pinned = await vault.index.acquireFrames(session.upload, sources);
  const usable = new Set(sources.filter((_, i) => pinned[i] === true));
  const sound = segments.filter(({ recipe }) => framesOf(recipe).every((frame) => usable.has(frame)));
  const directories = await directoriesOf(vault.index, sources);
  const blocks = await provedBlocks(vault, sound, report);
  const frames = new FrameMaker(session);
  const layer = new Layer(frames, blocks, directories);
  const items: Item[] = [];
  for (const segment of sound) {
    const runs = layer.lay(segment);
    if (runs === null) continue;
    const { item, recipe } = segment;
    const laid = encodeRecipe(runs);
    const hooks = hooksIn(recipe, directories);
    const record = session.putRecord({ kind: "segment", ordinal: item.ordinal, id: item.id, recipe: laid, hooks });
    items.push({ ...item, recipe: laid, record });
    report({ segments: 1 });
    await session.room();
  }
  frames.flush();
  const { packs, header } = await session.settle();
  if (items.length === 0) return;
  const unit = { ...packsUnit(session, packs, header), frames: rowsOf(session, packs, frames.records), items };
  await vault.index.addUnit(session.upload, vault.ctx.now(), unit);
}

type Directories = ReadonlyMap<number, FrameDirectory>;

/** Blocks by frame and slot. A slot that is not what the index says is missing, and its frame is damaged. */
type Blocks = ReadonlyMap<number, ReadonlyMap<number, ProvedBlock>>;

/** Copies of all blocks that move; each frame is opened once. */
async function provedBlocks(vault: Vault, segments: readonly MovingSegment[], report: Report): Promise<Blocks> {
  const wanted = new Map<number, Set<number>>();
  for (const { recipe, moves } of segments)
    eachBlock(recipe, (frame, slot) => {
      if (!moves(frame, slot)) return;
      const slots = wanted.get(frame) ?? new Set();
      if (slots.size === 0) wanted.set(frame, slots);
      slots.add(slot);
    });
  const reader = new FrameReader(vault);
  const proved = new Map<number, Map<number, ProvedBlock>>();
  for (const [frame, slots] of [...wanted].sort(([a], [b]) => a - b)) {
    const opened = await provedFrame(vault, reader, frame);
    const found = new Map<number, ProvedBlock>();
    for (const slot of slots) {
      const block = opened?.get(slot) ?? null;
      if (block !== null) found.set(slot, { id: block.id, block: Buffer.from(block.block) });
    }
    if (found.size < slots.size) await vault.index.setDamaged([frame], true);
    proved.set(frame, found);
    report({ framesRead: 1 });
  }
  return proved;
}

/** Lays blocks down one after the other; one that several segments share, once. */
class Layer {
  readonly #frames: FrameMaker;
  readonly #blocks: Blocks;
  readonly #directories: Directories;
  readonly #laid = new Map<ProvedBlock, { readonly frame: number; readonly slot: number }>();

  constructor(frames: FrameMaker, blocks: Blocks, directories: Directories) {
    this.#frames = frames;
    this.#blocks = blocks;
    this.#directories = directories;
  }

  /** A recipe with the moved blocks at their new places; null where one of them is damaged. */
  lay({ recipe, moves }: MovingSegment): Recipe | null {
    let whole = true;
    eachBlock(recipe, (frame, slot) => {
      whole &&= !moves(frame, slot) || this.#blocks.get(frame)?.has(slot) === true;
    });
    if (!whole) return null;
    const laid = new RecipeBuilder();
    for (const run of recipe) {
      for (let i = 0; i < run.count; i++) {
        if (run.kind === "zeros") laid.zeros(run.bytes / run.count);
        else if (moves(run.frame, run.slot + i)) this.#move(laid, run.frame, run.slot + i);
        else laid.stored(run.frame, run.slot + i, this.#directories.get(run.frame)?.lengths[run.slot + i] ?? 0);
      }
    }
    return laid.take();
  }

  #move(laid: RecipeBuilder, frame: number, slot: number): void {
    const proved = this.#blocks.get(frame)?.get(slot);
    if (proved === undefined) throw new Error("a block that was not proved");
    const place = this.#laid.get(proved) ?? this.#frames.add(proved.id, proved.block);
    this.#laid.set(proved, place);
    laid.stored(place.frame, place.slot, proved.block.length);
  }
}

/** A segment's hooks: those it always had, since its blocks are the same. */
function hooksIn(recipe: Recipe, directories: Directories): bigint[] {
  const ids: Uint8Array[] = [];
  eachBlock(recipe, (frame, slot) => {
    const directory = directories.get(frame);
    if (directory !== undefined) ids.push(slotId(directory, slot));
  });
  return hooksOf(Buffer.concat(ids), new Uint8Array(ids.length), 0, ids.length);
}
