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
 */

import { appendDirectory } from "../backup/frame-shop.ts";
import { hooksOf } from "../backup/matcher.ts";
import { frameBytes } from "../backup/protocol.ts";
import { Bitmap } from "../bitmap.ts";
import { asBuffer, ByteWriter } from "../bytes.ts";
import type { FrameDirectory } from "../frames/directory.ts";
import { encodeDirectory, slotId } from "../frames/directory.ts";
import { looksCompressible } from "../frames/frame.ts";
import { FrameReader } from "../frames/frame-reader.ts";
import type { FrameMove, FrameRow, Item, SnapshotRow } from "../index/port.ts";
import type { Signer } from "../keys/signing.ts";
import type { MetaItem } from "../packs/meta-items.ts";
import { writeMetaItem } from "../packs/meta-items.ts";
import type { Recipe } from "../recipes.ts";
import { decodeRecipe, encodeRecipe, framesOf, RecipeBuilder } from "../recipes.ts";
import type { Vault } from "../vault.ts";
import { assertComplete, markVault } from "./collect.ts";
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

export interface RelayReport {
  readonly segments: number;
  readonly rewrittenPacks: readonly string[];
  /** Packs whose rewriting was given up because an upload needed them. */
  readonly refusedPacks: readonly string[];
}

/** Upkeep of a vault: the newest snapshots' layout, then wasteful packs. */
export async function relay(vault: Vault, writer: Signer): Promise<RelayReport> {
  const newest = new Map<string, SnapshotRow>();
  for (const row of await vault.index.snapshots()) newest.set(row.source, row);
  let segments = 0;
  for (const row of newest.values()) segments += await relaySegments(vault, writer, row);
  const { rewritten, refused } = await rewritePacks(vault, writer, wastefulShare);
  return { segments, rewrittenPacks: rewritten, refusedPacks: refused };
}

/** Lays a snapshot's scattered segments down again. Returns how many. */
export async function relaySegments(vault: Vault, writer: Signer, snapshot: SnapshotRow): Promise<number> {
  const scattered: Item[] = [];
  for (const ordinal of Bitmap.decode(snapshot.reach)) {
    const [item] = await vault.index.itemsByOrdinal([ordinal]);
    if (item?.kind === "segment" && framesOf(decodeRecipe(item.recipe)).length > maxFramesPerSegment)
      scattered.push(item);
  }
  for (let i = 0; i < scattered.length; i += segmentsPerStep) {
    const step = scattered.slice(i, i + segmentsPerStep);
    await withRewriteSession(vault, writer, (session) => relayStep(vault, session, step));
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
    const { runs, hooks } = await copyBlocks(reader, frames, recipe);
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

async function copyBlocks(
  reader: FrameReader,
  frames: FrameMaker,
  recipe: Recipe,
): Promise<{ runs: Recipe; hooks: readonly bigint[] }> {
  const laid = new RecipeBuilder();
  const ids: Uint8Array[] = [];
  for (const run of recipe) {
    for (let i = 0; i < run.count; i++) {
      if (run.kind === "zeros") {
        laid.zeros(run.bytes / run.count);
        continue;
      }
      const { directory, starts, blocks } = await reader.dataFrame(run.frame);
      const slot = run.slot + i;
      const block = blocks.subarray(starts[slot], starts[slot + 1]);
      const place = frames.add(slotId(directory, slot), block);
      laid.stored(place.frame, place.slot, block.length);
      ids.push(slotId(directory, slot));
    }
  }
  const hooks = hooksOf(Buffer.concat(ids), new Uint8Array(ids.length), 0, ids.length);
  return { runs: laid.take(), hooks };
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

/** Rewrites packs that are dead to more than the share. Each pack is a step of its own. */
export async function rewritePacks(
  vault: Vault,
  writer: Signer,
  deadShare: number,
): Promise<{ rewritten: string[]; refused: string[] }> {
  const rewritten: string[] = [];
  const refused: string[] = [];
  const first = await markVault(vault);
  // Slots are dropped for good: a snapshot that the index does not know may need them.
  await assertComplete(vault);
  for (const pack of wastefulPacks(first.state, deadShare)) {
    const { state, generation } = await markVault(vault);
    const { condemned } = await vault.index.condemn([pack], generation);
    if (condemned.length === 0) {
      refused.push(pack);
      continue;
    }
    const done = await withRewriteSession(vault, writer, (session) => rewritePack(vault, session, pack, state));
    (done ? rewritten : refused).push(pack);
    if (done) {
      await vault.store.delete(vault.names.pack(pack));
      await vault.index.forgetPack(pack);
    }
  }
  return { rewritten, refused };
}

async function rewritePack(vault: Vault, session: RewriteSession, pack: string, state: Liveness): Promise<boolean> {
  const reader = new FrameReader(vault);
  const records = new Map<number, { record: number; directory: FrameDirectory }>();
  const old = new Map<number, FrameRow>();
  for await (const row of vault.index.allFrames()) {
    if (row.pack !== pack) continue;
    const live = row.kind === "data" ? state.slots.has(row.frame) : state.meta.has(row.frame);
    if (!live) continue;
    old.set(row.frame, row);
    if (row.kind === "data") await rewriteData(reader, session, row, state.slots.get(row.frame) ?? new Set(), records);
    else await rewriteMeta(reader, session, row, state);
    await session.room();
  }
  const { packs, header } = await session.settle();
  const rows = rowsOf(session, packs, records);
  const moves: FrameMove[] = rows
    .filter(({ frame }) => old.has(frame))
    .map((to) => {
      const from = old.get(to.frame);
      return { from: { pack, generation: from?.generation ?? 0 }, to };
    });
  const unit = { ...packsUnit(session, packs, header), frames: rows.filter(({ frame }) => !old.has(frame)) };
  return vault.index.moveFrames(session.upload, vault.ctx.now(), unit, moves, state.deadItems.get(pack) ?? []);
}

async function rewriteData(
  reader: FrameReader,
  session: RewriteSession,
  row: FrameRow,
  live: ReadonlySet<number>,
  records: Map<number, { record: number; directory: FrameDirectory }>,
): Promise<void> {
  const { directory, starts, blocks } = await reader.dataFrame(row.frame);
  const ids = Buffer.from(directory.ids);
  const lengths = Uint32Array.from(directory.lengths);
  const plain = new ByteWriter(blocks.length);
  for (const slot of directory.lengths.keys()) {
    if (live.has(slot)) plain.raw(blocks.subarray(starts[slot], starts[slot + 1]));
    else {
      lengths[slot] = 0;
      ids.fill(0, slot * 16, (slot + 1) * 16);
    }
  }
  const kept = { ids, lengths };
  const generation = row.generation + 1;
  records.set(row.frame, { record: putDirectory(session, row.frame, generation, kept), directory: kept });
  sealData(session, row.frame, generation, plain, kept);
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
  session.putFrame("meta", row.frame, row.generation + 1, plain.view(), false);
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
  const dense = plain.length > 0 && !looksCompressible(asBuffer(plain.view()));
  appendDirectory(plain, directory);
  session.putFrame("data", frame, generation, plain.view(), dense);
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
