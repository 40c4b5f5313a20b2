/** Groups frames that are adjacent in a pack, so that one request reads them. */

import type { FrameRow } from "../catalog/catalog.ts";

/** Sealed bytes read in one request. A few of them wait for each worker: this is most of a restore's memory. */
const maxGroupBytes = 4 * 1024 * 1024;

/** Plain bytes of one job. Without it, highly compressed frames keep one worker busy while the others wait. */
const maxJobBytes = 16 * 1024 * 1024;

/** Bytes between two frames that are read and dropped: a millisecond of a fast line. A second request and its keys cost several (docs/decisions/0635). */
const maxGapBytes = 256 * 1024;

/** Groups of adjacent frames. The frames come in the order of packs and offsets; `bytesOf` returns their plain bytes. */
export function* groupAdjacent<F extends { readonly row: FrameRow }>(
  frames: readonly F[],
  bytesOf: (frame: F) => number,
): Generator<F[]> {
  let group: F[] = [];
  let bytes = 0;
  for (const frame of frames) {
    const more = bytesOf(frame);
    if (group.length > 0 && !(isAdjacent(group, frame) && bytes + more <= maxJobBytes)) {
      yield group;
      group = [];
      bytes = 0;
    }
    group.push(frame);
    bytes += more;
  }
  if (group.length > 0) yield group;
}

/** The order in which `groupAdjacent` takes frames. */
export function byPlace({ row: a }: { readonly row: FrameRow }, { row: b }: { readonly row: FrameRow }): number {
  return a.pack < b.pack ? -1 : a.pack > b.pack ? 1 : a.offset - b.offset;
}

/** The part of `sealed` that is one frame. `base`: the offset of `sealed` in the pack. */
export function sealedBytesOf({ offset, length }: FrameRow, sealed: Uint8Array, base: number): Uint8Array {
  return sealed.subarray(offset - base, offset - base + length);
}

function isAdjacent(group: readonly { readonly row: FrameRow }[], { row }: { readonly row: FrameRow }): boolean {
  const [first, last] = [group[0]?.row, group.at(-1)?.row];
  if (first === undefined || last === undefined || first.pack !== row.pack) return false;
  const gap = row.offset - last.offset - last.length;
  return gap >= 0 && gap <= maxGapBytes && row.offset + row.length - first.offset <= maxGroupBytes;
}
