/**
 * Rewrites packs that are mostly dead: their live frames are written to a new pack, without the dead slots.
 *
 * Frames keep their numbers and slots, so no recipe changes. A dropped slot stays in the block list with length 0.
 *
 * Packs are condemned by a marking first. Then each pack is rewritten with a session: new packs are uploaded, and one
 * step of the catalog moves the frames and sets the old pack to `deleting`. That step is refused if the old pack is no
 * longer condemned by this marking: an upload has pinned it and may need a slot that was dropped. Then the new packs are
 * orphans, and the old pack stays. An interruption before the step has the same result. After the step the old
 * pack is deleted; if that is interrupted, the next prune deletes it.
 */

import type { FrameMove, FrameRow } from "../catalog/catalog.ts";
import { Bitmap } from "../format/bitmap.ts";
import type { BlockList } from "../format/block-list.ts";
import { decodeBlockList } from "../format/block-list.ts";
import { ByteWriter } from "../format/bytes.ts";
import type { MetadataItem } from "../format/metadata-items.ts";
import { writeMetadataItem } from "../format/metadata-items.ts";
import type { FrameReader } from "../restore/frame-reader.ts";
import { frameReaderOf } from "../restore/local-read-port.ts";
import type { Vault } from "../vault.ts";
import { assertChainMatches } from "./compare-chain.ts";
import { putBlockList, readCheckedFrame, sealData } from "./copy-blocks.ts";
import { deletePackObject } from "./delete-packs.ts";
import type { LiveSet } from "./live-set.ts";
import { wastefulPacks } from "./live-set.ts";
import type { CondemnedMarking } from "./mark.ts";
import { markAndCondemn } from "./mark.ts";
import { recoverOrphanManifests } from "./orphan-manifests.ts";
import type { UpkeepSession } from "./upkeep-session.ts";
import { packsUnit, rowsOf, withUpkeepSession } from "./upkeep-session.ts";

/**
 * Rewrites packs of which more than `deadShare` is dead. One marking serves for all of them: as long as a pack is condemned
 * by it, no upload has come to need anything in the pack.
 */
export async function rewritePacks(
  vault: Vault,
  deadShare: number,
  onPack?: () => void,
): Promise<{ rewritten: string[]; refused: string[] }> {
  const rewritten: string[] = [];
  const refused: string[] = [];
  // Dropped slots cannot be restored. A snapshot without a row may need them, so every manifest must have its row.
  await recoverOrphanManifests(vault);
  await assertChainMatches(vault);
  const marking = await markAndCondemn(vault, (liveSet) => wastefulPacks(liveSet, deadShare));
  for (const [pack, frames] of await framesByPack(vault, marking.condemned)) {
    const done = await withUpkeepSession(vault, (session) => rewritePack(vault, session, pack, frames, marking));
    (done ? rewritten : refused).push(pack);
    onPack?.();
    if (done) await deletePackObject(vault, pack);
  }
  return { rewritten, refused };
}

/** Returns the frames of each pack. No frame is added to a pack later, so one query is enough. */
async function framesByPack(vault: Vault, packs: readonly string[]): Promise<Map<string, number[]>> {
  const byPack = new Map<string, number[]>(packs.map((pack) => [pack, []]));
  for await (const { frame, pack } of vault.catalog.allFrames()) byPack.get(pack)?.push(frame);
  return byPack;
}

/** Rewrites one pack. False if its frames stay where they are. */
async function rewritePack(
  vault: Vault,
  session: UpkeepSession,
  pack: string,
  frames: readonly number[],
  { liveSet, revision: marking }: CondemnedMarking,
): Promise<boolean> {
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
    if (row.kind === "meta") await rewriteMeta(reader, session, row, liveSet);
    else if (!(await rewriteData(vault, reader, session, row, slots ?? new Bitmap(), records))) {
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
  vault: Vault,
  reader: FrameReader,
  session: UpkeepSession,
  row: FrameRow,
  live: Bitmap,
  records: Map<number, { recordFrame: number; blockList: BlockList }>,
): Promise<boolean> {
  const frame = await readCheckedFrame(vault, reader, row.frame);
  const blockList = decodeBlockList(row.blockList);
  const ids = Buffer.from(blockList.ids);
  const lengths = Uint32Array.from(blockList.lengths);
  const plain = new ByteWriter(1 << 20);
  // A live recipe names a slot that the block list does not have. The frame stays as it is.
  if (live.highest >= blockList.lengths.length) return false;
  for (const slot of blockList.lengths.keys()) {
    const block = live.has(slot) ? frame.get(slot) : null;
    if (live.has(slot) && block === null) return false;
    if (block !== null) plain.raw(block.bytes);
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

/** Writes a metadata frame without its dead items. A dropped item keeps its slot. */
async function rewriteMeta(
  reader: FrameReader,
  session: UpkeepSession,
  row: FrameRow,
  liveSet: LiveSet,
): Promise<void> {
  const plain = new ByteWriter(1 << 16);
  for (const item of await reader.metaItems(row.frame))
    writeMetadataItem(plain, isLiveItem(item, liveSet) ? item : { kind: "dropped" });
  session.putFrame("meta", row.frame, row.generation + 1, plain.view(), "fast");
}

function isLiveItem(item: MetadataItem, liveSet: LiveSet): boolean {
  if (item.kind === "dropped") return false;
  return item.kind === "blockList" ? liveSet.slots.has(item.frame) : liveSet.ordinals.has(item.ordinal);
}
