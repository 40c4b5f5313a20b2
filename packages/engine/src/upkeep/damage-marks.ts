/**
 * Marks of damage. A mark is what one read said about one version of a frame, and it may be wrong: a disk was away, a
 * request failed, a pack was not seen. So a marked frame is tried again before anything is done about it, and a clean read
 * takes the mark away.
 */

import type { FrameRow, FrameVersion } from "../catalog/catalog.ts";
import { decodeBlockList, slotId } from "../format/block-list.ts";
import { sameBytes } from "../format/bytes.ts";
import { isBlock, nodeId } from "../format/hash.ts";
import { nodeKeyOf } from "../format/vault-keys.ts";
import { DamageError, FrameReader } from "../restore/frame-reader.ts";
import type { Vault } from "../vault.ts";

/** Reads marked frames (all, or the given ones) and takes the marks of those away that are whole. Says which. */
export async function clearWrongMarks(vault: Vault, only?: readonly FrameVersion[]): Promise<readonly FrameRow[]> {
  const frames = only?.map(({ frame }) => frame) ?? (await vault.catalog.damagedFrames());
  const cleared: FrameRow[] = [];
  // A reader each: what an earlier read gave proves nothing about this one.
  for (const frame of frames) {
    const [row] = await vault.catalog.frames([frame]);
    if (row?.damaged !== true || !(await isSound(vault, row))) continue;
    await vault.catalog.setDamaged([row], false);
    cleared.push(row);
  }
  return cleared;
}

/** Whether a frame is there and holds everything that the catalog says. */
async function isSound(vault: Vault, row: FrameRow): Promise<boolean> {
  const reader = new FrameReader(vault);
  try {
    return row.kind === "data" ? await isWhole(vault, reader, row) : await hasTrueNodes(vault, reader, row);
  } catch (error) {
    if (error instanceof DamageError) return false;
    throw error;
  }
}

async function isWhole(vault: Vault, reader: FrameReader, row: FrameRow): Promise<boolean> {
  const blockList = decodeBlockList(row.blockList);
  const { starts, blocks } = await reader.dataFrame(row.frame);
  for (const [slot, length] of blockList.lengths.entries()) {
    if (length === 0) continue;
    const block = blocks.subarray(starts[slot], starts[slot + 1]);
    if (block.length !== length || !isBlock(vault.keys.blockIdKey, slotId(blockList, slot), block)) return false;
  }
  return true;
}

async function hasTrueNodes(vault: Vault, reader: FrameReader, row: FrameRow): Promise<boolean> {
  const key = nodeKeyOf(vault.keys);
  const items = await reader.metaItems(row.frame);
  return items.every((item) => item.kind !== "node" || sameBytes(nodeId(key, item.bytes), item.id));
}
