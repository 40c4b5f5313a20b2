/**
 * Reads frames again that have a damage mark. A mark is the result of one read of one version of a frame. It may be wrong:
 * a disk was not mounted, or a request failed. So a marked frame is read again before it is healed. If it is intact now,
 * its mark is removed.
 */

import type { FrameRow, FrameVersion, ReaderCatalog } from "../catalog/catalog.ts";
import { decodeBlockList, slotId } from "../format/block-list.ts";
import { sameBytes } from "../format/bytes.ts";
import { isBlock, nodeId } from "../format/hash.ts";
import { DamageError, FrameReader } from "./frame-reader.ts";
import type { ReadPort } from "./read-port.ts";

/** Reads marked frames (all, or only the given ones), removes the marks of intact ones, and returns these. */
export async function recheckFrames(
  catalog: Pick<ReaderCatalog, "damagedFrames" | "frames" | "setDamaged">,
  port: ReadPort,
  only?: readonly FrameVersion[],
): Promise<readonly FrameRow[]> {
  const frames = only?.map(({ frame }) => frame) ?? allDamagedFrames(catalog);
  const intact: FrameRow[] = [];
  for await (const frame of frames) {
    const [row] = await catalog.frames([frame]);
    if (row?.damaged !== true || !(await isIntact(port, row))) continue;
    await catalog.setDamaged([row], false);
    intact.push(row);
  }
  return intact;
}

/** All frames with a damage mark, page by page. */
export async function* allDamagedFrames(catalog: Pick<ReaderCatalog, "damagedFrames">): AsyncGenerator<number> {
  for (let after: number | undefined = 0; after !== undefined; ) {
    const page = await catalog.damagedFrames(after);
    yield* page;
    after = page.at(-1);
  }
}

/** Whether a frame can be read and holds what the catalog has about it. */
async function isIntact(port: ReadPort, row: FrameRow): Promise<boolean> {
  // A new reader for each frame: a cached frame would not be read again.
  const reader = new FrameReader(port);
  try {
    return row.kind === "data" ? await blocksMatch(port, reader, row) : await nodesMatch(port, reader, row);
  } catch (error) {
    if (error instanceof DamageError) return false;
    throw error;
  }
}

async function blocksMatch({ keys }: ReadPort, reader: FrameReader, row: FrameRow): Promise<boolean> {
  const blockList = decodeBlockList(row.blockList);
  const { starts, blocks } = await reader.dataFrame(row.frame);
  for (const [slot, length] of blockList.lengths.entries()) {
    if (length === 0) continue;
    const block = blocks.subarray(starts[slot], starts[slot + 1]);
    if (block.length !== length || !isBlock(keys.blockIdKey, slotId(blockList, slot), block)) return false;
  }
  return true;
}

async function nodesMatch({ keys }: ReadPort, reader: FrameReader, row: FrameRow): Promise<boolean> {
  const items = await reader.metaItems(row.frame);
  return items.every((item) => item.kind !== "node" || sameBytes(nodeId(keys.nodeKey, item.bytes), item.id));
}
