/**
 * Writes packs that are mostly dead anew without their dead slots. Frames keep their numbers and slots, so no recipe
 * changes at all.
 *
 * Only adds, then switches over in one step of the catalog; old packs become collectable. A pack is rewritten only while
 * it is condemned: an upload that comes to need a slot which is about to be dropped revives the pack, and the switch is
 * refused.
 */

import type { FrameMove, FrameRow } from "../catalog/catalog.ts";
import { Bitmap } from "../format/bitmap.ts";
import type { BlockList } from "../format/block-list.ts";
import { decodeBlockList } from "../format/block-list.ts";
import { ByteWriter } from "../format/bytes.ts";
import type { MetadataItem } from "../format/metadata-items.ts";
import { writeMetadataItem } from "../format/metadata-items.ts";
import { FrameReader } from "../restore/frame-reader.ts";
import type { Vault } from "../vault.ts";
import { provedFrame, putBlockList, sealData } from "./copy-blocks.ts";
import type { Liveness } from "./liveness.ts";
import { wastefulPacks } from "./liveness.ts";
import type { CondemnedPacks } from "./prune.ts";
import { assertComplete, condemnBy } from "./prune.ts";
import type { UpkeepSession } from "./upkeep-session.ts";
import { packsUnit, rowsOf, withUpkeepSession } from "./upkeep-session.ts";

/**
 * Rewrites packs that are dead to more than the share, each as a step of its own, all by one marking: a pack that stays
 * condemned by it is as it was marked, whatever is committed meanwhile.
 */
export async function rewritePacks(
  vault: Vault,
  deadShare: number,
  onPack?: () => void,
): Promise<{ rewritten: string[]; refused: string[] }> {
  const rewritten: string[] = [];
  const refused: string[] = [];
  // Slots are dropped for good: a snapshot that the catalog does not know may need them.
  await assertComplete(vault);
  const marked = await condemnBy(vault, (state) => wastefulPacks(state, deadShare));
  const framesIn = await framesByPack(vault, marked.condemned);
  for (const [pack, frames] of framesIn) {
    const done = await withUpkeepSession(vault, (session) => rewritePack(vault, session, pack, frames, marked));
    (done ? rewritten : refused).push(pack);
    onPack?.();
    if (done) {
      await vault.store.delete(vault.names.pack(pack));
      await vault.catalog.forgetPack(pack);
    }
  }
  return { rewritten, refused };
}

/** Frames never come to a pack later, so what is in one can be asked once. */
async function framesByPack(vault: Vault, packs: readonly string[]): Promise<Map<string, number[]>> {
  const byPack = new Map<string, number[]>(packs.map((pack) => [pack, []]));
  for await (const { frame, pack } of vault.catalog.allFrames()) byPack.get(pack)?.push(frame);
  return byPack;
}

async function rewritePack(
  vault: Vault,
  session: UpkeepSession,
  pack: string,
  frames: readonly number[],
  { state, revision: marking }: CondemnedPacks,
): Promise<boolean> {
  const reader = new FrameReader(vault);
  const records = new Map<number, { record: number; blockList: BlockList }>();
  const old = new Map<number, FrameRow>();
  for (const frame of frames) {
    const [row] = await vault.catalog.frames([frame]);
    // Healed or rewritten by somebody else meanwhile.
    if (row?.pack !== pack) continue;
    const slots = state.slots.get(frame);
    if (row.kind === "data" ? slots === undefined : !state.meta.has(frame)) continue;
    old.set(frame, row);
    if (row.kind === "meta") await rewriteMeta(reader, session, row, state);
    else if (!(await rewriteData(vault, reader, session, row, slots ?? new Bitmap(), records))) {
      // Needing its frames brings the pack back from condemned: it keeps what is damaged until that is healed.
      await vault.catalog.acquireFrames(session.upload, [...old.keys()]);
      await vault.catalog.setDamaged([row], true);
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
  return vault.catalog.moveFrames(session.upload, vault.ctx.now(), unit, moves, state.deadItems.get(pack) ?? []);
}

/** False where a live block is not what the catalog says. */
async function rewriteData(
  vault: Vault,
  reader: FrameReader,
  session: UpkeepSession,
  row: FrameRow,
  live: Bitmap,
  records: Map<number, { record: number; blockList: BlockList }>,
): Promise<boolean> {
  const proved = await provedFrame(vault, reader, row.frame);
  const blockList = decodeBlockList(row.blockList);
  const ids = Buffer.from(blockList.ids);
  const lengths = Uint32Array.from(blockList.lengths);
  const plain = new ByteWriter(1 << 20);
  // A recipe may name a slot that the catalog's block list lacks: then the frame must not be written anew without it.
  if (live.highest >= blockList.lengths.length) return false;
  for (const slot of blockList.lengths.keys()) {
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
  records.set(row.frame, { record: putBlockList(session, row.frame, generation, kept), blockList: kept });
  sealData(session, row.frame, generation, plain, kept);
  return true;
}

async function rewriteMeta(reader: FrameReader, session: UpkeepSession, row: FrameRow, state: Liveness): Promise<void> {
  const plain = new ByteWriter(1 << 16);
  for (const item of await reader.metaItems(row.frame))
    writeMetadataItem(plain, isLiveItem(item, state) ? item : { kind: "gone" });
  session.putFrame("meta", row.frame, row.generation + 1, plain.view(), "fast");
}

function isLiveItem(item: MetadataItem, state: Liveness): boolean {
  if (item.kind === "gone") return false;
  return item.kind === "blockList" ? state.slots.has(item.frame) : state.live.has(item.ordinal);
}
