/**
 * Healing: a damaged frame's block list survives in the metadata, so any intact block with a listed id can stand in for
 * it. A backup of a source that still has the bytes brings them: damaged content is "not known" to it.
 *
 * 1. The frame itself is tried first. Where it is whole, the mark goes and nothing else happens.
 * 2. Where all of its blocks are found, it is written anew under its old number: recipes, and with them old snapshots, are
 *    whole again. A frame is never replaced by one that holds less: the pack that was away may come back.
 * 3. Where only some are found, the segments that need them are given recipes that name the found places (`replaceRecipes.ts`).
 *    The rest still names the damaged frame. No block is written again, and nothing is lost if the frame returns.
 *
 * A block list is a claim: every block is hashed and compared with its id before it stands in for another, so that what a
 * lying or damaged frame holds never heals anybody's.
 */

import type { FrameRow } from "../catalog/catalog.ts";
import { decodeBlockList, slotId } from "../format/block-list.ts";
import { ByteWriter, hex } from "../format/bytes.ts";
import { isBlock } from "../format/hash.ts";
import { DamageError, FrameReader } from "../restore/frame-reader.ts";
import { recheckDamagedFrames } from "../restore/recheck-damaged.ts";
import type { Vault } from "../vault.ts";
import { putBlockList, sealData } from "./copy-blocks.ts";
import type { BlockPlace, FoundPlaces } from "./replace-recipes.ts";
import { replaceRecipes } from "./replace-recipes.ts";
import { packsUnit, rowsOf, withUpkeepSession } from "./upkeep-session.ts";

export interface HealReport {
  /** Frames whose mark was wrong: they are whole where they always were. */
  readonly sound: readonly number[];
  /** Frames that are whole again. */
  readonly healed: readonly number[];
  /** Frames of which some blocks are found nowhere, while something rests on them. */
  readonly stillDamaged: readonly number[];
}

/** Heals what can be healed. */
export async function heal(vault: Vault): Promise<HealReport> {
  const sound = (await recheckDamagedFrames(vault)).map(({ frame }) => frame);
  const damaged: FrameRow[] = [];
  for (const row of await vault.catalog.frames(await vault.catalog.damagedFrames()))
    if (row?.kind === "data") damaged.push(row);
  const sources = await findSources(vault, damaged);
  const healed: number[] = [];
  const places: FoundPlaces = new Map();
  for (const row of damaged) {
    const found = await findBlocks(vault, row, sources);
    if (found.isWhole && (await replace(vault, row, found.blocks))) healed.push(row.frame);
    else places.set(row.frame, found.places);
  }
  return { sound, healed, stillDamaged: await replaceRecipes(vault, places) };
}

/** Intact places of the blocks that damaged frames have lost. */
async function findSources(vault: Vault, damaged: readonly FrameRow[]): Promise<Map<string, BlockPlace[]>> {
  const wanted = new Set<string>();
  for (const row of damaged) {
    const blockList = decodeBlockList(row.blockList);
    for (const [slot, length] of blockList.lengths.entries()) if (length > 0) wanted.add(hex(slotId(blockList, slot)));
  }
  const sources = new Map<string, BlockPlace[]>();
  if (wanted.size === 0) return sources;
  for await (const row of vault.catalog.allFrames()) {
    if (row.damaged || row.kind !== "data") continue;
    const blockList = decodeBlockList(row.blockList);
    for (const [slot, length] of blockList.lengths.entries()) {
      const id = hex(slotId(blockList, slot));
      if (length > 0 && wanted.has(id)) sources.set(id, [...(sources.get(id) ?? []), { frame: row.frame, slot }]);
    }
  }
  return sources;
}

/** The first source that really holds the block. */
async function provedBlock(
  vault: Vault,
  reader: FrameReader,
  id: Uint8Array,
  sources: readonly BlockPlace[],
): Promise<{ readonly place: BlockPlace; readonly block: Uint8Array } | null> {
  for (const place of sources) {
    try {
      const { starts, blocks } = await reader.dataFrame(place.frame);
      const block = blocks.subarray(starts[place.slot], starts[place.slot + 1]);
      if (isBlock(vault.keys.blockIdKey, id, block)) return { place, block: Buffer.from(block) };
    } catch (error) {
      // Damaged itself: the next one may not be.
      if (!(error instanceof DamageError)) throw error;
    }
  }
  return null;
}

interface FoundBlocks {
  /** By slot of the damaged frame. */
  readonly blocks: ReadonlyMap<number, Uint8Array>;
  readonly places: ReadonlyMap<number, BlockPlace>;
  readonly isWhole: boolean;
}

async function findBlocks(
  vault: Vault,
  row: FrameRow,
  sources: ReadonlyMap<string, readonly BlockPlace[]>,
): Promise<FoundBlocks> {
  const blockList = decodeBlockList(row.blockList);
  const reader = new FrameReader(vault);
  const blocks = new Map<number, Uint8Array>();
  const places = new Map<number, BlockPlace>();
  let isWhole = true;
  for (const [slot, length] of blockList.lengths.entries()) {
    if (length === 0) continue;
    const id = slotId(blockList, slot);
    const found = await provedBlock(vault, reader, id, sources.get(hex(id)) ?? []);
    if (found === null) isWhole = false;
    else {
      blocks.set(slot, found.block);
      places.set(slot, found.place);
    }
  }
  return { blocks, places, isWhole };
}

/** Writes a frame of which every block was found anew. False where it has moved meanwhile: then it was not damaged. */
async function replace(vault: Vault, row: FrameRow, blocks: ReadonlyMap<number, Uint8Array>): Promise<boolean> {
  const blockList = decodeBlockList(row.blockList);
  const generation = row.generation + 1;
  return withUpkeepSession(vault, async (session) => {
    const plain = new ByteWriter(1 << 20);
    for (const slot of blockList.lengths.keys()) plain.raw(blocks.get(slot) ?? new Uint8Array(0));
    const record = putBlockList(session, row.frame, generation, blockList);
    sealData(session, row.frame, generation, plain, blockList);
    const { packs, header } = await session.settle();
    const rows = rowsOf(session, packs, new Map([[row.frame, { record, blockList }]]));
    const from = { pack: row.pack, generation: row.generation, marking: null };
    const moves = rows.filter(({ frame }) => frame === row.frame).map((to) => ({ from, to }));
    const unit = { ...packsUnit(session, packs, header), frames: rows.filter(({ frame }) => frame !== row.frame) };
    return vault.catalog.moveFrames(session.upload, vault.ctx.now(), unit, moves, []);
  });
}
