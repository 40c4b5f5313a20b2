/**
 * Heal: repairs damaged data frames from other copies of their blocks.
 *
 * In: the frames that are marked as damaged. Their block lists are also in the metadata, so the ids of the lost blocks are
 * known. A backup of a source that still has the files stores their blocks again, because items on a damaged frame do not
 * count as stored. Out: which frames are intact, healed, or still damaged.
 *
 * 1. Each marked frame is read again. If it is intact, its mark is removed (`recheck-damaged.ts`).
 * 2. If all blocks of a frame are found in other frames, the frame is written again under its number, with the next
 *    generation. All recipes, and so all snapshots, are whole again. A frame is never replaced by one with fewer blocks: the
 *    missing pack may come back.
 * 3. If only some blocks are found, the recipes that need them name the found copies instead (`replace-recipes.ts`). The
 *    other blocks still name the damaged frame. No block is copied, and nothing is lost if the pack comes back. Only frames
 *    that a rebuild cannot replace are named: their sessions are settled and their records right (`check-records.ts`).
 *
 * Every found block is compared with its id before it is used: another frame may be damaged too, or a client may have
 * written a wrong block list. Each frame and each batch of recipes is one step of the catalog. If heal is interrupted, the
 * steps that were done stay, uploaded packs of the last step are orphans, and the next heal does the rest.
 */

import type { FrameRow } from "../catalog/catalog.ts";
import { decodeBlockList, slotId } from "../format/block-list.ts";
import { ByteWriter, hex } from "../format/bytes.ts";
import { isBlock } from "../format/hash.ts";
import { RecordChecker } from "../restore/check-records.ts";
import type { FrameReader } from "../restore/frame-reader.ts";
import { DamageError } from "../restore/frame-reader.ts";
import { frameReaderOf, recheckDamagedFrames } from "../restore/local-read-port.ts";
import { allDamagedFrames } from "../restore/recheck-damaged.ts";
import { SettledSessions } from "../restore/settled-sessions.ts";
import type { Vault } from "../vault.ts";
import { putBlockList, sealData } from "./copy-blocks.ts";
import type { BlockLocation, FoundLocations } from "./replace-recipes.ts";
import { replaceRecipes } from "./replace-recipes.ts";
import { packsUnit, rowsOf, withUpkeepSession } from "./upkeep-session.ts";

export interface HealReport {
  /** Frames that are intact: their mark was wrong. */
  readonly intact: readonly number[];
  /** Frames that were written again with all their blocks. */
  readonly healed: readonly number[];
  /** Frames that items still need and of which some blocks were found nowhere. */
  readonly stillDamaged: readonly number[];
}

export async function heal(vault: Vault): Promise<HealReport> {
  const intact = (await recheckDamagedFrames(vault)).map(({ frame }) => frame);
  const damaged: FrameRow[] = [];
  for await (const frame of allDamagedFrames(vault.catalog)) {
    const [row] = await vault.catalog.frames([frame]);
    if (row?.kind === "data") damaged.push(row);
  }
  const copies = await findCopies(vault, damaged);
  const healed: number[] = [];
  const locations: FoundLocations = new Map();
  for (const row of damaged) {
    const found = await findBlocks(vault, row, copies);
    if (found.isWhole && (await rewriteFrame(vault, row, found.blocks))) healed.push(row.frame);
    else locations.set(row.frame, found.locations);
  }
  return { intact, healed, stillDamaged: await replaceRecipes(vault, locations) };
}

/** Locations of lost blocks. */
interface Copies {
  /** By block id. Those in shareable frames come first. */
  readonly locations: ReadonlyMap<string, readonly BlockLocation[]>;
  /** Frames that recipes of others may name. A block of any other frame is only copied. */
  readonly shareable: ReadonlySet<number>;
}

/** Finds the locations of lost blocks in frames that are not marked. They are not read yet. */
async function findCopies(vault: Vault, damaged: readonly FrameRow[]): Promise<Copies> {
  const wanted = new Set<string>();
  for (const row of damaged) {
    const blockList = decodeBlockList(row.blockList);
    for (const [slot, length] of blockList.lengths.entries()) if (length > 0) wanted.add(hex(slotId(blockList, slot)));
  }
  const locations = new Map<string, BlockLocation[]>();
  if (wanted.size === 0) return { locations, shareable: new Set() };
  for await (const row of intactDataFrames(vault)) {
    const blockList = decodeBlockList(row.blockList);
    for (const [slot, length] of blockList.lengths.entries()) {
      const id = hex(slotId(blockList, slot));
      if (length > 0 && wanted.has(id)) locations.set(id, [...(locations.get(id) ?? []), { frame: row.frame, slot }]);
    }
  }
  const frames = new Set([...locations.values()].flat().map(({ frame }) => frame));
  const checker = new RecordChecker(vault.catalog, frameReaderOf(vault), new SettledSessions(vault));
  const shareable = await checker.withRightBlockLists([...frames]);
  const rank = ({ frame }: BlockLocation) => (shareable.has(frame) ? 0 : 1);
  for (const found of locations.values()) found.sort((a, b) => rank(a) - rank(b));
  return { locations, shareable };
}

/** Frames whose block lists are read in one call of the catalog. */
const framesPerCall = 128;

/** All data frames that are not marked, with their block lists. */
async function* intactDataFrames({ catalog }: Vault): AsyncGenerator<FrameRow> {
  let batch: number[] = [];
  const read = async () => {
    const rows = await catalog.frames(batch);
    batch = [];
    return rows.filter((row): row is FrameRow => row !== null && !row.damaged && row.kind === "data");
  };
  for await (const { frame, damaged, kind } of catalog.allFrames()) {
    if (!damaged && kind === "data") batch.push(frame);
    if (batch.length >= framesPerCall) yield* await read();
  }
  yield* await read();
}

/** Reads the first copy of a block that matches the id. */
async function readIntactCopy(
  vault: Vault,
  reader: FrameReader,
  id: Uint8Array,
  copies: readonly BlockLocation[],
): Promise<{ readonly location: BlockLocation; readonly block: Uint8Array } | null> {
  for (const location of copies) {
    try {
      const { starts, blocks } = await reader.dataFrame(location.frame);
      const block = blocks.subarray(starts[location.slot], starts[location.slot + 1]);
      if (isBlock(vault.keys.blockIdKey, id, block)) return { location, block: Buffer.from(block) };
    } catch (error) {
      // This frame is damaged too. The next copy may be intact.
      if (!(error instanceof DamageError)) throw error;
    }
  }
  return null;
}

/** The blocks of a damaged frame that were found, by slot. */
interface FoundBlocks {
  readonly blocks: ReadonlyMap<number, Uint8Array>;
  /** Those of them that recipes may name where they were found. */
  readonly locations: ReadonlyMap<number, BlockLocation>;
  readonly isWhole: boolean;
}

async function findBlocks(vault: Vault, row: FrameRow, copies: Copies): Promise<FoundBlocks> {
  const blockList = decodeBlockList(row.blockList);
  const reader = frameReaderOf(vault);
  const blocks = new Map<number, Uint8Array>();
  const locations = new Map<number, BlockLocation>();
  let isWhole = true;
  for (const [slot, length] of blockList.lengths.entries()) {
    if (length === 0) continue;
    const id = slotId(blockList, slot);
    const found = await readIntactCopy(vault, reader, id, copies.locations.get(hex(id)) ?? []);
    if (found === null) isWhole = false;
    else {
      blocks.set(slot, found.block);
      if (copies.shareable.has(found.location.frame)) locations.set(slot, found.location);
    }
  }
  return { blocks, locations, isWhole };
}

/** Writes a frame again with all its blocks. False if another process has moved the frame meanwhile. */
async function rewriteFrame(vault: Vault, row: FrameRow, blocks: ReadonlyMap<number, Uint8Array>): Promise<boolean> {
  const blockList = decodeBlockList(row.blockList);
  const generation = row.generation + 1;
  return withUpkeepSession(vault, async (session) => {
    const plain = new ByteWriter(1 << 20);
    for (const slot of blockList.lengths.keys()) plain.raw(blocks.get(slot) ?? new Uint8Array(0));
    const recordFrame = putBlockList(session, row.frame, generation, blockList);
    sealData(session, row.frame, generation, plain, blockList);
    const { packs, header } = await session.flush();
    const rows = rowsOf(session, packs, new Map([[row.frame, { recordFrame, blockList }]]));
    const from = { pack: row.pack, generation: row.generation, marking: null };
    const moves = rows.filter(({ frame }) => frame === row.frame).map((to) => ({ from, to }));
    const unit = { ...packsUnit(session, packs, header), frames: rows.filter(({ frame }) => frame !== row.frame) };
    return vault.catalog.moveFrames(session.upload, vault.ctx.now(), unit, moves, []);
  });
}
