/** Nightly dumps for tests. */

import type { SeededRandom } from "../../../packages/engine/src/testing/random-tree.ts";

export const pageBytes = 8192;

/** A dump of SQL Server pages: header, then half random, half repeated. */
export function dump(random: SeededRandom, pages: number): Buffer {
  const bytes = Buffer.alloc(pages * pageBytes);
  for (let page = 0; page < pages; page++) {
    const at = page * pageBytes;
    bytes[at] = 1;
    bytes[at + 1] = 1 + (page % 3);
    bytes.writeUInt32LE(page, at + 4);
    random.bytes(700).copy(bytes, at + 96);
    bytes.fill(`fatura satırı ${page % 50} `, at + 1000, at + pageBytes);
  }
  return bytes;
}
