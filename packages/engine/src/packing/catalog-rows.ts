/**
 * The catalog rows of packs that became durable. Backup and upkeep register the same rows.
 */

import type { FrameRow, PackRow } from "../catalog/catalog.ts";
import type { DurablePack } from "./pack-uploader.ts";

/** A data frame's block list, and the metadata frame that has its copy. */
export interface BlockListRecord {
  readonly recordFrame: number;
  readonly blockList: Uint8Array;
}

const noRecord: BlockListRecord = { recordFrame: 0, blockList: new Uint8Array(0) };

export function packRows(session: number, packs: readonly DurablePack[]): PackRow[] {
  return packs.map(({ pack, size }) => ({ pack, session, size, state: "live" }));
}

/** `recordOf` returns the record of every data frame, and undefined for metadata frames. */
export function frameRows(
  session: number,
  packs: readonly DurablePack[],
  recordOf: (frame: number) => BlockListRecord | undefined,
): FrameRow[] {
  return packs.flatMap(({ pack, frames }) =>
    frames.map(({ frame, generation, kind, offset, length, frameId }) => {
      const { recordFrame, blockList } = recordOf(frame) ?? noRecord;
      return {
        frame,
        generation,
        kind,
        pack,
        offset,
        length,
        frameId,
        session,
        blockList,
        recordFrame,
        damaged: false,
      };
    }),
  );
}
