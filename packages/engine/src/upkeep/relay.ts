/**
 * Relaying: keeps restores fast and space free as nights go by.
 *
 * - `relaySegments` lays a snapshot's scattered segments (more than 8 frames) down again in one piece, in the order of
 *   their ordinals: such a segment gets a new recipe, all others keep theirs.
 * - `rewritePacks` writes packs that are mostly dead anew without their dead slots. Frames keep their numbers and slots,
 *   so no recipe changes at all.
 *
 * Both only add, then switch over in one step of the index; old packs become collectable. A pack is rewritten only
 * while it is condemned: an upload that comes to need a slot which is about to be dropped revives the pack, and the
 * switch is refused.
 *
 * What is laid down again may become the only copy: every block is proved against the id that the index has for it. A
 * frame that fails is marked as damaged and stays where it is, for healing.
 */

import { appendDirectory } from "../backup/frame-shop.ts";
import { hooksOf } from "../backup/matcher.ts";
import { frameBytes } from "../backup/protocol.ts";
import { Bitmap } from "../bitmap.ts";
import { ByteWriter } from "../bytes.ts";
import { isDenseAllOver } from "../cutter/density.ts";
import type { FrameDirectory } from "../frames/directory.ts";
import { decodeDirectory, encodeDirectory, slotId } from "../frames/directory.ts";
import { DamageError, FrameReader } from "../frames/frame-reader.ts";
import { isBlock } from "../hash.ts";
import type { FrameMove, FrameRow, Item, SnapshotRow } from "../index/port.ts";
import type { MetaItem } from "../packs/meta-items.ts";
import { writeMetaItem } from "../packs/meta-items.ts";
import type { Recipe } from "../recipes.ts";
import { decodeRecipe, encodeRecipe, framesOf, RecipeBuilder } from "../recipes.ts";
import type { Vault } from "../vault.ts";
import type { CondemnedPacks } from "./collect.ts";
import { assertComplete, condemnBy } from "./collect.ts";
import type { Liveness } from "./liveness.ts";
import { wastefulPacks } from "./liveness.ts";
import type { RewriteSession } from "./rewrite-session.ts";
import { packsUnit, rowsOf, withRewriteSession } from "./rewrite-session.ts";

/** A segment read from more frames than this is laid down again. */
const maxFramesPerSegment = 8;

/** Packs with more than this share dead are worth writing again. */
const wastefulShare = 0.5;

/** Work of one step: what a crash repeats, and what is in memory as recipes. */
const segmentsPerStep = 256;

/** One question to the index; recipes of a few hundred bytes each. */
const ordinalsPerQuery = 512;

export interface RelayReport {
  readonly segments: number;
  readonly rewrittenPacks: readonly string[];
  /** Packs whose rewriting was given up because an upload needed them. */
  readonly refusedPacks: readonly string[];
}

/** Upkeep of a vault: the newest snapshots' layout, then wasteful packs. */
export async function relay(vault: Vault): Promise<RelayReport> {
  const newest = new Map<string, SnapshotRow>();
  for (const row of await vault.index.snapshots()) newest.set(row.source, row);
  let segments = 0;
  for (const row of newest.values()) segments += await relaySegments(vault, row);
  const { rewritten, refused } = await rewritePacks(vault, wastefulShare);
  return { segments, rewrittenPacks: rewritten, refusedPacks: refused };
}

/** Lays a snapshot's scattered segments down again. Returns how many. */
export async function relaySegments(vault: Vault, snapshot: SnapshotRow): Promise<number> {
  const scattered: Item[] = [];
  const ordinals = [...Bitmap.decode(snapshot.reach)];
  for (let i = 0; i < ordinals.length; i += ordinalsPerQuery) {
    for (const item of await vault.index.itemsByOrdinal(ordinals.slice(i, i + ordinalsPerQuery))) {
      if (item?.kind === "segment" && framesOf(decodeRecipe(item.recipe)).length > maxFramesPerSegment)
        scattered.push(item);
    }
  }
  for (let i = 0; i < scattered.length; i += segmentsPerStep) {
    const step = scattered.slice(i, i + segmentsPerStep);
    await withRewriteSession(vault, (session) => relayStep(vault, session, step));
  }
  return scattered.length;
}

async function relayStep(vault: Vault, session: RewriteSession, segments: readonly Item[]): Promise<void> {
  const reader = new FrameReader(vault);
  const frames = new FrameMaker(session);
  // What is read must stay until it is laid down: pin it like any upload would.
  const sources = [...new Set(segments.flatMap(({ recipe }) => framesOf(decodeRecipe(recipe))))];
  const pinned = await vault.index.acquireFrames(session.upload, sources);
  const usable = new Set(sources.filter((_, i) => pinned[i] === true));
  const items: Item[] = [];
  for (const item of segments) {
    const recipe = decodeRecipe(item.recipe);
    if (!framesOf(recipe).every((frame) => usable.has(frame))) continue;
    const blocks = await provedBlocks(vault, reader, recipe);
    if (blocks === null) continue;
    const { runs, hooks } = copyBlocks(frames, recipe, blocks);
    const laid = encodeRecipe(runs);
    const record = session.putRecord({ kind: "segment", ordinal: item.ordinal, id: item.id, recipe: laid, hooks });
    items.push({ ...item, recipe: laid, record });
    await session.room();
  }
  frames.flush();
  const { packs, header } = await session.settle();
  if (items.length === 0) return;
  const unit = { ...packsUnit(session, packs, header), frames: rowsOf(session, packs, frames.records), items };
  await vault.index.addUnit(session.upload, vault.ctx.now(), unit);
}

interface ProvedBlock {
  readonly id: Uint8Array;
  readonly block: Uint8Array;
}

/** The stored blocks of a recipe in order; null where one is not what the index says, whose frame is then damaged. */
async function provedBlocks(vault: Vault, reader: FrameReader, recipe: Recipe): Promise<ProvedBlock[] | null> {
  const proved: ProvedBlock[] = [];
  for (const run of recipe) {
    if (run.kind !== "stored") continue;
    const frame = await provedFrame(vault, reader, run.frame);
    for (let slot = run.slot; slot < run.slot + run.count; slot++) {
      const block = frame?.get(slot) ?? null;
      if (block === null) {
        await vault.index.setDamaged([run.frame], true);
        return null;
      }
      proved.push(block);
    }
  }
  return proved;
}

/** A frame's blocks by the index's directory, each proved when it is asked for; null where the frame does not open. */
async function provedFrame(
  vault: Vault,
  reader: FrameReader,
  frame: number,
): Promise<{ get(slot: number): ProvedBlock | null } | null> {
  try {
    const [row] = await vault.index.frames([frame]);
    const { starts, blocks } = await reader.dataFrame(frame);
    const directory = decodeDirectory(row?.directory ?? new Uint8Array(0));
    const get = (slot: number) => {
      const block = blocks.subarray(starts[slot], starts[slot + 1]);
      const id = slotId(directory, slot);
      const proved = block.length === directory.lengths[slot] && isBlock(vault.keys.blockIdKey, id, block);
      return proved ? { id, block } : null;
    };
    return { get };
  } catch (error) {
    if (error instanceof DamageError) return null;
    throw error;
  }
}

function copyBlocks(
  frames: FrameMaker,
  recipe: Recipe,
  blocks: readonly ProvedBlock[],
): { runs: Recipe; hooks: readonly bigint[] } {
  const laid = new RecipeBuilder();
  let next = 0;
  for (const run of recipe) {
    for (let i = 0; i < run.count; i++) {
      if (run.kind === "zeros") {
        laid.zeros(run.bytes / run.count);
        continue;
      }
      const proved = blocks[next++];
      if (proved === undefined) throw new Error("a recipe has more blocks than were proved");
      const place = frames.add(proved.id, proved.block);
      laid.stored(place.frame, place.slot, proved.block.length);
    }
  }
  const ids = Buffer.concat(blocks.map(({ id }) => id));
  return { runs: laid.take(), hooks: hooksOf(ids, new Uint8Array(blocks.length), 0, blocks.length) };
}

/** Fills new data frames, one after the other. */
class FrameMaker {
  readonly #session: RewriteSession;
  readonly records = new Map<number, { record: number; directory: FrameDirectory }>();
  #open: { frame: number; plain: ByteWriter; ids: ByteWriter; lengths: number[] } | null = null;

  constructor(session: RewriteSession) {
    this.#session = session;
  }

  add(id: Uint8Array, block: Uint8Array): { frame: number; slot: number } {
    this.#open ??= {
      frame: this.#session.nextFrame(),
      plain: new ByteWriter(1 << 20),
      ids: new ByteWriter(4096),
      lengths: [],
    };
    const open = this.#open;
    open.plain.raw(block);
    open.ids.raw(id);
    open.lengths.push(block.length);
    const place = { frame: open.frame, slot: open.lengths.length - 1 };
    if (open.plain.length >= frameBytes.page) this.flush();
    return place;
  }

  flush(): void {
    const open = this.#open;
    if (open === null) return;
    this.#open = null;
    const directory = { ids: open.ids.take(), lengths: Uint32Array.from(open.lengths) };
    this.records.set(open.frame, { record: putDirectory(this.#session, open.frame, 0, directory), directory });
    sealData(this.#session, open.frame, 0, open.plain, directory);
  }
}

/**
 * Rewrites packs that are dead to more than the share, each as a step of its own, all by one marking: a pack that stays
 * condemned by it is as it was marked, whatever is committed meanwhile.
 */
export async function rewritePacks(
  vault: Vault,
  deadShare: number,
): Promise<{ rewritten: string[]; refused: string[] }> {
  const rewritten: string[] = [];
  const refused: string[] = [];
  // Slots are dropped for good: a snapshot that the index does not know may need them.
  await assertComplete(vault);
  const marked = await condemnBy(vault, (state) => wastefulPacks(state, deadShare));
  const framesIn = await framesByPack(vault, marked.condemned);
  for (const [pack, frames] of framesIn) {
    const done = await withRewriteSession(vault, (session) => rewritePack(vault, session, pack, frames, marked));
    (done ? rewritten : refused).push(pack);
    if (done) {
      await vault.store.delete(vault.names.pack(pack));
      await vault.index.forgetPack(pack);
    }
  }
  return { rewritten, refused };
}

/** Frames never come to a pack later, so what is in one can be asked once. */
async function framesByPack(vault: Vault, packs: readonly string[]): Promise<Map<string, number[]>> {
  const byPack = new Map<string, number[]>(packs.map((pack) => [pack, []]));
  for await (const { frame, pack } of vault.index.allFrames()) byPack.get(pack)?.push(frame);
  return byPack;
}

async function rewritePack(
  vault: Vault,
  session: RewriteSession,
  pack: string,
  frames: readonly number[],
  { state, generation: marking }: CondemnedPacks,
): Promise<boolean> {
  const reader = new FrameReader(vault);
  const records = new Map<number, { record: number; directory: FrameDirectory }>();
  const old = new Map<number, FrameRow>();
  for (const frame of frames) {
    const [row] = await vault.index.frames([frame]);
    // Healed or rewritten by somebody else meanwhile.
    if (row?.pack !== pack) continue;
    const slots = state.slots.get(frame);
    if (row.kind === "data" ? slots === undefined : !state.meta.has(frame)) continue;
    old.set(frame, row);
    if (row.kind === "meta") await rewriteMeta(reader, session, row, state);
    else if (!(await rewriteData(vault, reader, session, row, slots ?? new Bitmap(), records))) {
      // Needing its frames brings the pack back from condemned: it keeps what is damaged until that is healed.
      await vault.index.acquireFrames(session.upload, [...old.keys()]);
      await vault.index.setDamaged([frame], true);
      return false;
    }
    await session.room();
  }
  // Its live frames have all been moved by somebody else: what is left is for collection to judge.
  if (old.size === 0) return false;
  const { packs, header } = await session.settle();
  const rows = rowsOf(session, packs, records);
  const moves: FrameMove[] = rows
    .filter(({ frame }) => old.has(frame))
    .map((to) => {
      const from = old.get(to.frame);
      return { from: { pack, generation: from?.generation ?? 0, marking }, to };
    });
  const unit = { ...packsUnit(session, packs, header), frames: rows.filter(({ frame }) => !old.has(frame)) };
  return vault.index.moveFrames(session.upload, vault.ctx.now(), unit, moves, state.deadItems.get(pack) ?? []);
}

/** False where a live block is not what the index says. */
async function rewriteData(
  vault: Vault,
  reader: FrameReader,
  session: RewriteSession,
  row: FrameRow,
  live: Bitmap,
  records: Map<number, { record: number; directory: FrameDirectory }>,
): Promise<boolean> {
  const proved = await provedFrame(vault, reader, row.frame);
  if (proved === null) return false;
  const directory = decodeDirectory(row.directory);
  const ids = Buffer.from(directory.ids);
  const lengths = Uint32Array.from(directory.lengths);
  const plain = new ByteWriter(1 << 20);
  for (const slot of directory.lengths.keys()) {
    const block = live.has(slot) ? proved.get(slot) : null;
    if (live.has(slot) && block === null) return false;
    if (block !== null) plain.raw(block.block);
    else {
      lengths[slot] = 0;
      ids.fill(0, slot * 16, (slot + 1) * 16);
    }
  }
  const kept = { ids, lengths };
  const generation = row.generation + 1;
  records.set(row.frame, { record: putDirectory(session, row.frame, generation, kept), directory: kept });
  sealData(session, row.frame, generation, plain, kept);
  return true;
}

async function rewriteMeta(
  reader: FrameReader,
  session: RewriteSession,
  row: FrameRow,
  state: Liveness,
): Promise<void> {
  const plain = new ByteWriter(1 << 16);
  for (const item of await reader.metaItems(row.frame))
    writeMetaItem(plain, isLiveItem(item, state) ? item : { kind: "gone" });
  session.putFrame("meta", row.frame, row.generation + 1, plain.view(), "quick");
}

function isLiveItem(item: MetaItem, state: Liveness): boolean {
  if (item.kind === "gone") return false;
  return item.kind === "directory" ? state.slots.has(item.frame) : state.live.has(item.ordinal);
}

/** Seals a data frame's blocks with its directory. */
export function sealData(
  session: RewriteSession,
  frame: number,
  generation: number,
  plain: ByteWriter,
  directory: FrameDirectory,
): void {
  const effort = isDenseAllOver(plain.view()) ? "none" : "quick";
  appendDirectory(plain, directory);
  session.putFrame("data", frame, generation, plain.view(), effort);
}

/** Writes the metadata's copy of a frame's directory; returns the metadata frame. */
export function putDirectory(
  session: RewriteSession,
  frame: number,
  generation: number,
  directory: FrameDirectory,
): number {
  return session.putRecord({ kind: "directory", frame, generation, directory: encodeDirectory(directory) });
}
