/**
 * Healing: a damaged frame's directory survives in the metadata, so any intact block with a listed id can stand in for
 * it. The frame is written anew under its old number from blocks found elsewhere; recipes, and with them old snapshots,
 * are whole again. A backup of a source that still has the bytes brings them: damaged content is "not known" to it.
 *
 * A directory is a claim: every block is hashed and compared with its id before it stands in for another, so that what a
 * lying or damaged frame holds never heals anybody's.
 */

import { ByteWriter, hex } from "../bytes.ts";
import { decodeDirectory, encodeDirectory, slotId } from "../frames/directory.ts";
import { DamageError, FrameReader } from "../frames/frame-reader.ts";
import { isBlock } from "../hash.ts";
import type { FrameRow } from "../index/port.ts";
import type { Vault } from "../vault.ts";
import { putDirectory, sealData } from "./laid-frames.ts";
import { packsUnit, rowsOf, withRewriteSession } from "./rewrite-session.ts";

export interface HealReport {
  /** Frames that are whole again. */
  readonly healed: readonly number[];
  /** Frames of which some blocks are found nowhere. */
  readonly stillDamaged: readonly number[];
}

interface Source {
  readonly frame: number;
  readonly slot: number;
}

/** Heals what can be healed. */
export async function heal(vault: Vault): Promise<HealReport> {
  const damaged: FrameRow[] = [];
  for (const row of await vault.index.frames(await vault.index.damagedFrames()))
    if (row?.kind === "data") damaged.push(row);
  const sources = await findSources(vault, damaged);
  const healed: number[] = [];
  const stillDamaged: number[] = [];
  for (const row of damaged) {
    const whole = await healFrame(vault, row, sources);
    (whole ? healed : stillDamaged).push(row.frame);
  }
  return { healed, stillDamaged };
}

/** Intact places of the blocks that damaged frames have lost. */
async function findSources(vault: Vault, damaged: readonly FrameRow[]): Promise<Map<string, Source[]>> {
  const wanted = new Set<string>();
  for (const row of damaged) {
    const directory = decodeDirectory(row.directory);
    for (const [slot, length] of directory.lengths.entries()) if (length > 0) wanted.add(hex(slotId(directory, slot)));
  }
  const sources = new Map<string, Source[]>();
  if (wanted.size === 0) return sources;
  for await (const row of vault.index.allFrames()) {
    if (row.damaged || row.kind !== "data") continue;
    const directory = decodeDirectory(row.directory);
    for (const [slot, length] of directory.lengths.entries()) {
      const id = hex(slotId(directory, slot));
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
  sources: readonly Source[],
): Promise<Uint8Array | null> {
  for (const { frame, slot } of sources) {
    try {
      const { starts, blocks } = await reader.dataFrame(frame);
      const block = blocks.subarray(starts[slot], starts[slot + 1]);
      if (isBlock(vault.keys.blockIdKey, id, block)) return Buffer.from(block);
    } catch (error) {
      // Damaged itself: the next one may not be.
      if (!(error instanceof DamageError)) throw error;
    }
  }
  return null;
}

async function healFrame(
  vault: Vault,
  row: FrameRow,
  sources: ReadonlyMap<string, readonly Source[]>,
): Promise<boolean> {
  const wanted = decodeDirectory(row.directory);
  const ids = [...wanted.lengths.keys()].filter((slot) => (wanted.lengths[slot] ?? 0) > 0);
  const reader = new FrameReader(vault);
  const found = new Map<number, Uint8Array>();
  for (const slot of ids) {
    const id = slotId(wanted, slot);
    const block = await provedBlock(vault, reader, id, sources.get(hex(id)) ?? []);
    if (block !== null) found.set(slot, block);
  }
  if (found.size === 0) return false;
  const whole = found.size === ids.length;
  return withRewriteSession(vault, async (session) => {
    const plain = new ByteWriter(1 << 20);
    const lengths = Uint32Array.from(wanted.lengths);
    const kept = Buffer.from(wanted.ids);
    for (const slot of ids) {
      const block = found.get(slot);
      if (block === undefined) {
        lengths[slot] = 0;
        kept.fill(0, slot * 16, (slot + 1) * 16);
      } else plain.raw(block);
    }
    const generation = row.generation + 1;
    const directory = { ids: kept, lengths };
    const records = new Map([[row.frame, { record: putDirectory(session, row.frame, generation, wanted), directory }]]);
    sealData(session, row.frame, generation, plain, directory);
    const { packs, header } = await session.settle();
    const rows = rowsOf(session, packs, records);
    // The index keeps the whole directory: what is still missing can be found by a later backup.
    const moves = rows
      .filter(({ frame }) => frame === row.frame)
      .map((to) => ({ from: null, to: { ...to, directory: encodeDirectory(wanted), damaged: !whole } }));
    const unit = { ...packsUnit(session, packs, header), frames: rows.filter(({ frame }) => frame !== row.frame) };
    return (await vault.index.moveFrames(session.upload, vault.ctx.now(), unit, moves, [])) && whole;
  });
}
