/**
 * The content-defined cutter, in AssemblyScript. Built to `cutter.wasm` by `testing/build.ts`; `testing/build.test.ts`
 * rebuilds it and compares the bytes. The memory is imported: the host reads files directly into it, so bytes are
 * not copied before they are cut.
 *
 * Memory: [0, 2048) the keyed gear table, 256 × u64. The host uses everything above.
 *
 * A block ends after the first byte where the gear hash, h = (h << 1) + table[byte], has its top bits zero: many bits
 * while the block is shorter than the normal size, fewer from there on (FastCDC's normalised chunking), so that most
 * lengths are near the normal size. The hash covers 64 bytes at most; it starts at the minimum block size.
 */

const maxBlock: u32 = 65536;

let minBlock: u32 = 0;
let normalBlock: u32 = 0;
let hardShift: u64 = 0;
let easyShift: u64 = 0;

/** Sets the sizes of the next blocks: minimum, normal size, and the zero bits before and after the normal size. */
export function size(least: u32, normal: u32, hardBits: u32, easyBits: u32): void {
  minBlock = least;
  normalBlock = normal;
  hardShift = 64 - hardBits;
  easyShift = 64 - easyBits;
}

/**
 * Cuts the bytes [start, end) into blocks and writes each block's end address to `out`. Unless `final` is set it stops
 * where fewer than `maxBlock` bytes are left, because the next block's end is not yet decided. Returns the count.
 */
export function cut(start: u32, end: u32, final: u32, out: u32): u32 {
  let count: u32 = 0;
  let at = start;
  while (at < end && (final != 0 || end - at >= maxBlock)) {
    at = nextEnd(at, end);
    store<u32>(out + (count << 2), at);
    count++;
  }
  return count;
}

/** Whether all bytes of [start, end) are zero. */
export function isZero(start: u32, end: u32): u32 {
  let at = start;
  while (at + 8 <= end) {
    if (load<u64>(at) != 0) return 0;
    at += 8;
  }
  while (at < end) {
    if (load<u8>(at) != 0) return 0;
    at++;
  }
  return 1;
}

function nextEnd(at: u32, end: u32): u32 {
  const limit = min<u32>(end, at + maxBlock);
  const normal = min<u32>(limit, at + normalBlock);
  let i = at + minBlock;
  if (i >= limit) return limit;
  const hard = hardShift;
  const easy = easyShift;
  let h: u64 = 0;
  while (i < normal) {
    h = (h << 1) + load<u64>(<u32>load<u8>(i) << 3);
    i++;
    if (h >> hard == 0) return i;
  }
  while (i < limit) {
    h = (h << 1) + load<u64>(<u32>load<u8>(i) << 3);
    i++;
    if (h >> easy == 0) return i;
  }
  return limit;
}
