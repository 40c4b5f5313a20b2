/**
 * Rewrites packs that are mostly dead, or that scrub has found damaged outside their frames: their live frames are written to a
 * new pack, without the dead slots.
 *
 * Frames keep their numbers and slots, so no recipe changes. A dropped slot stays in the block list with length 0.
 *
 * Packs are condemned by a marking first. Then each pack is rewritten with a session: new packs are uploaded, and one
 * step of the catalog moves the frames and sets the old pack to `deleting`. That step is refused if the old pack is no
 * longer condemned by this marking: an upload has pinned it and may need a slot that was dropped. Then the new packs are
 * orphans, and the old pack stays. An interruption before the step has the same result. After the step the old
 * pack is deleted; if that is interrupted, the next prune deletes it.
 *
 * A pack with a damaged frame stays as it is, and the frame is marked. The other packs are rewritten.
 */

import type { FrameMove, FrameRow, Item } from "../catalog/catalog.ts";
import { Bitmap } from "../format/bitmap.ts";
import type { BlockList } from "../format/block-list.ts";
import { decodeBlockList } from "../format/block-list.ts";
import { ByteWriter, sameBytes } from "../format/bytes.ts";
import type { MetadataItem } from "../format/metadata-items.ts";
import { writeMetadataItem } from "../format/metadata-items.ts";
import { decodeRecipe } from "../format/recipe.ts";
import type { FrameReader } from "../restore/frame-reader.ts";
import { DamageError } from "../restore/frame-reader.ts";
import { frameReaderOf } from "../restore/local-read-port.ts";
import type { Vault } from "../vault.ts";
import type { RestoreWorkerPool } from "../workers/restore-worker-pool.ts";
import { assertChainMatches } from "./compare-chain.ts";
import { putBlockList, readCheckedBlocks, sealData } from "./copy-blocks.ts";
import { deletePackObject } from "./delete-packs.ts";
import type { LiveSet } from "./live-set.ts";
import { wastefulPacks } from "./live-set.ts";
import type { CondemnedMarking } from "./mark.ts";
import { markAndCondemn } from "./mark.ts";
import { recoverOrphanManifests } from "./orphan-manifests.ts";
import type { UpkeepSession } from "./upkeep-session.ts";
import { packsUnit, rowsOf, withUpkeepSession } from "./upkeep-session.ts";

export interface RewriteOptions {
  /** Opens and seals frames. Without it, the caller's thread does. */
  readonly pool?: RestoreWorkerPool | undefined;
  /**
   * Packs that are rewritten also if little of them is dead: scrub has found their header or footer damaged, and their frames
   * intact. A rebuild would refuse them.
   */
  readonly damagedPacks?: readonly string[] | undefined;
  /** The limit for the sum of the packs. One pack is rewritten in any case. */
  readonly maxBytes?: number | undefined;
  readonly onPack?: (() => void) | undefined;
}

export interface RewriteReport {
  readonly rewritten: readonly string[];
  readonly refused: readonly string[];
  /** False if the limit was reached. */
  readonly isComplete: boolean;
}

/**
 * Rewrites packs of which more than `deadShare` is dead (none if it is 1). One marking serves for all of them: as long as a pack is condemned
 * by it, no upload has come to need anything in the pack.
 */
export async function rewritePacks(
  vault: Vault,
  deadShare: number,
  { pool, damagedPacks = [], maxBytes = Number.POSITIVE_INFINITY, onPack }: RewriteOptions = {},
): Promise<RewriteReport> {
  const rewritten: string[] = [];
  const refused: string[] = [];
  // Dropped slots cannot be restored. A snapshot without a row may need them, so every manifest must have its row.
  await recoverOrphanManifests(vault);
  await assertChainMatches(vault);
  let isComplete = true;
  const marking = await markAndCondemn(vault, (liveSet) => {
    const isNeeded = (pack: string) => (liveSet.packs.get(pack)?.neededFrameBytes ?? 0) > 0;
    const wanted = [...new Set([...damagedPacks.filter(isNeeded), ...wastefulPacks(liveSet, deadShare)])];
    const chosen = firstPacks(liveSet, wanted, maxBytes);
    isComplete = chosen.length === wanted.length;
    return chosen;
  });
  // A rebuild may have run since, and may have lost a snapshot. One that runs later makes the packs live again.
  await assertChainMatches(vault);
  pool?.startThreadsFor(bytesOf(marking.liveSet, marking.condemned));
  for (const [pack, frames] of await framesByPack(vault, marking.condemned)) {
    const rewrite = (session: UpkeepSession) =>
      rewritePack({ vault, session, marking, pool: pool ?? null }, pack, frames);
    const done = await withUpkeepSession(vault, rewrite, pool);
    (done ? rewritten : refused).push(pack);
    onPack?.();
    if (done) await deletePackObject(vault, pack);
  }
  return { rewritten, refused, isComplete };
}

/** The first packs, as long as their sum is below the limit; at least one. */
function firstPacks(liveSet: LiveSet, packs: readonly string[], maxBytes: number): string[] {
  let bytes = 0;
  return packs.filter((pack, i) => {
    bytes += bytesOf(liveSet, [pack]);
    return i === 0 || bytes <= maxBytes;
  });
}

function bytesOf(liveSet: LiveSet, packs: readonly string[]): number {
  return packs.reduce((sum, pack) => sum + (liveSet.packs.get(pack)?.size ?? 0), 0);
}

interface PackRewrite {
  readonly vault: Vault;
  readonly session: UpkeepSession;
  readonly marking: CondemnedMarking;
  readonly pool: RestoreWorkerPool | null;
}

/** Returns the frames of each pack. No frame is added to a pack later, so one query is enough. */
async function framesByPack(vault: Vault, packs: readonly string[]): Promise<Map<string, number[]>> {
  const byPack = new Map<string, number[]>(packs.map((pack) => [pack, []]));
  for await (const { frame, pack } of vault.catalog.allFrames()) byPack.get(pack)?.push(frame);
  return byPack;
}

/** Rewrites one pack. False if its frames stay where they are. */
async function rewritePack(rewrite: PackRewrite, pack: string, frames: readonly number[]): Promise<boolean> {
  const { vault, session, marking: condemned } = rewrite;
  const { liveSet, revision: marking } = condemned;
  const reader = frameReaderOf(vault);
  const records = new Map<number, { recordFrame: number; blockList: BlockList }>();
  const old = new Map<number, FrameRow>();
  for (const frame of frames) {
    const [row] = await vault.catalog.frames([frame]);
    // Heal or another repack has moved it meanwhile.
    if (row?.pack !== pack) continue;
    const slots = liveSet.slots.get(frame);
    if (row.kind === "data" ? slots === undefined : !liveSet.metaFrames.has(frame)) continue;
    old.set(frame, row);
    const isRewritten =
      row.kind === "meta"
        ? await rewriteMeta(rewrite, reader, row)
        : await rewriteData(rewrite, reader, row, slots ?? new Bitmap(), records);
    if (!isRewritten) {
      // Pinning its frames makes the pack live again. It keeps the damaged frame until that is healed.
      await vault.catalog.acquireFrames(session.upload, [...old.keys()]);
      await vault.catalog.setDamaged([row], true);
      return false;
    }
    await session.waitForSpace();
  }
  // All its live frames have been moved by another repack or by heal. Prune deletes the pack if nothing needs it.
  if (old.size === 0) return false;
  const { packs, header } = await session.flush();
  const rows = rowsOf(session, packs, records);
  const moves: FrameMove[] = rows
    .filter(({ frame }) => old.has(frame))
    .map((to) => {
      const from = old.get(to.frame);
      return { from: { pack, generation: from?.generation ?? 0, marking }, to };
    });
  const unit = { ...packsUnit(session, packs, header), frames: rows.filter(({ frame }) => !old.has(frame)) };
  return vault.catalog.moveFrames(session.upload, vault.ctx.now(), unit, moves, liveSet.deadItems.get(pack) ?? []);
}

/** Writes a data frame without its dead slots. False if a live block does not match its id. */
async function rewriteData(
  { vault, session, pool }: PackRewrite,
  reader: FrameReader,
  row: FrameRow,
  live: Bitmap,
  records: Map<number, { recordFrame: number; blockList: BlockList }>,
): Promise<boolean> {
  const blockList = decodeBlockList(row.blockList);
  const ids = Buffer.from(blockList.ids);
  const lengths = Uint32Array.from(blockList.lengths);
  const plain = new ByteWriter(1 << 20);
  // A live recipe names a slot that the block list does not have. The frame stays as it is.
  if (live.highest >= blockList.lengths.length) return false;
  const { blocks } = await readCheckedBlocks(vault, reader, row.frame, live, pool);
  for (const slot of blockList.lengths.keys()) {
    const block = blocks.get(slot);
    if (live.has(slot) && block === undefined) return false;
    if (block !== undefined) plain.raw(block.bytes);
    else {
      lengths[slot] = 0;
      ids.fill(0, slot * 16, (slot + 1) * 16);
    }
  }
  const kept = { ids, lengths };
  const generation = row.generation + 1;
  records.set(row.frame, { recordFrame: putBlockList(session, row.frame, generation, kept), blockList: kept });
  sealData(session, row.frame, generation, plain, kept);
  return true;
}

/**
 * Writes a metadata frame without its dead items. A dropped item keeps its slot. An item that differs from the catalog is
 * dropped too: the authority would sign a false record of a client, or a record that repack has replaced. False if the
 * frame is damaged.
 */
async function rewriteMeta(
  { vault, session, marking }: PackRewrite,
  reader: FrameReader,
  row: FrameRow,
): Promise<boolean> {
  const plain = new ByteWriter(1 << 16);
  const items = await readItems(reader, row.frame);
  if (items === null) return false;
  for (let at = 0; at < items.length; at += itemsPerLookup) {
    const some = items.slice(at, at + itemsPerLookup);
    const known = await vault.catalog.itemsByOrdinal(some.map((item) => ("ordinal" in item ? item.ordinal : 0)));
    const rows = await vault.catalog.frames(some.map((item) => (item.kind === "blockList" ? item.frame : 0)));
    for (const [i, item] of some.entries()) {
      const isKept =
        item.kind === "blockList"
          ? marking.liveSet.slots.has(item.frame) && rows[i]?.recordFrame === row.frame
          : isLiveItem(item, marking.liveSet) && isRecordOf(item, known[i] ?? null, row.frame, at + i);
      writeMetadataItem(plain, isKept ? item : { kind: "dropped" });
    }
  }
  session.putFrame("meta", row.frame, row.generation + 1, plain.view(), "fast");
  return true;
}

/** The items of a metadata frame; null if it is damaged. */
async function readItems(reader: FrameReader, frame: number): Promise<readonly MetadataItem[] | null> {
  try {
    return await reader.metaItems(frame);
  } catch (error) {
    if (error instanceof DamageError) return null;
    throw error;
  }
}

/** Items looked up in one call of the catalog. */
const itemsPerLookup = 512;

function isLiveItem(item: MetadataItem, liveSet: LiveSet): boolean {
  return (item.kind === "node" || item.kind === "segment") && liveSet.ordinals.has(item.ordinal);
}

/** Whether the catalog has an item with this record, in this frame and slot. */
function isRecordOf(record: MetadataItem, item: Item | null, frame: number, slot: number): boolean {
  if (item === null || item.kind !== record.kind || !("id" in record) || !sameBytes(item.id, record.id)) return false;
  if (record.kind === "segment") return item.recordFrame === frame && sameBytes(item.recipe, record.recipe);
  const [run] = decodeRecipe(item.recipe);
  return run?.kind === "stored" && run.frame === frame && run.slot === slot;
}
