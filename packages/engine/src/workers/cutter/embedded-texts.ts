/**
 * Finds long texts that are embedded in XML or HTML. An e-invoice contains its issuer's style sheet: 117 KB of base64
 * between two tags. Cut by content alone, the first and last block of the style sheet also contain bytes around it, which
 * differ in every invoice; about 12 KB would be stored again with each. Cut at its start and end, the style sheet has the
 * same blocks in every invoice (docs/decisions/0117).
 */

/** Shorter texts gain nothing: they are one block, which is stored together with its neighbours. */
const minEmbeddedBytes = 4096;

const tagStart = 0x3c;
const tagEnd = 0x3e;

/** Where a text starts, and where it ends (exclusive). */
export interface TextRange {
  readonly from: number;
  readonly to: number;
}

/**
 * The embedded texts in [from, to), in order. Searches for a tag backwards from the end of the shortest possible text, so
 * that input with many tags is skipped in steps of that length.
 */
export function embeddedTexts(buffer: Buffer, from: number, to: number): TextRange[] {
  // What is behind the file is not searched: the buffer has megabytes.
  const bytes = buffer.subarray(0, to);
  const texts: TextRange[] = [];
  let at = from;
  while (to - at > minEmbeddedBytes) {
    const last = bytes.lastIndexOf(tagStart, at + minEmbeddedBytes);
    if (last > at) {
      at = last;
      continue;
    }
    const found = bytes.indexOf(tagStart, at + minEmbeddedBytes + 1);
    const end = found < 0 ? to : found;
    const close = bytes.indexOf(tagEnd, at);
    const begin = close >= at && close < end ? close + 1 : at;
    if (begin > from || end < to) texts.push({ from: begin, to: end });
    at = end;
  }
  return texts;
}
