/**
 * Hooks: a few block ids by which a similar segment is found again (sparse indexing, Lillibridge et al., FAST 2009). The
 * catalog maps a hook to the newest segment that has it. Backup and upkeep write the same hooks for the same blocks.
 */

import { blockIdLength } from "../format/hash.ts";

/**
 * Hooks of a segment. After a database rebuilt its indexes, a third of its pages are new. With two hooks, a tenth of the
 * segments lost both and stored their old pages again; with four, hardly any did (docs/decisions/0117).
 */
const hooksPerSegment = 4;

/**
 * The smallest ids among `count` blocks from `first` on, at most `most` of them. Zero blocks are skipped, since they are
 * in every file. An id that occurs twice is one hook.
 */
export function hooksOf(
  ids: Uint8Array,
  zeros: Uint8Array,
  first: number,
  count: number,
  most = hooksPerSegment,
): bigint[] {
  const view = Buffer.from(ids.buffer, ids.byteOffset, ids.byteLength);
  // In ascending order; a list this short is kept sorted faster than a heap.
  const keys: number[] = [];
  const places: number[] = [];
  // For nearly all blocks the first byte already shows that they are not among the smallest.
  let largestFirst = 255;
  for (let i = first; i < first + count; i++) {
    if ((view[i * blockIdLength] ?? 0) > largestFirst || zeros[i] === 1) continue;
    const key = view.readUIntBE(i * blockIdLength, 6);
    if (keys.length === most && key >= (keys[most - 1] ?? 0)) continue;
    const at = keys.findIndex((each) => each >= key);
    if (keys[at] === key) continue;
    keys.splice(at < 0 ? keys.length : at, 0, key);
    places.splice(at < 0 ? places.length : at, 0, i);
    keys.length = Math.min(keys.length, most);
    places.length = keys.length;
    if (keys.length === most) largestFirst = view[(places[most - 1] ?? 0) * blockIdLength] ?? 0;
  }
  return places.map((i) => view.readBigInt64LE(i * blockIdLength));
}
