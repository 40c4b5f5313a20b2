/**
 * Finds what is embedded in marked-up text: an invoice carries its issuer's style sheet as 117 KB of base64 between two
 * tags. Cut by content alone, the first and the last block of the sheet also hold what surrounds it, which every invoice
 * has differently: some twelve kilobytes of the sheet are stored anew with each. Cut where it begins and ends, the sheet
 * is the same blocks in every invoice (docs/decisions/0117).
 */

/** Shorter texts between two tags gain nothing: a block of them and its neighbours are stored anew anyway. */
const minEmbeddedBytes = 4096;

const tagStart = 0x3c;
const tagEnd = 0x3e;

/** Where a text lies. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/**
 * The embedded texts in [from, to), in order. Looks backwards from as far ahead as the shortest of them would reach, so
 * text that is full of tags is passed over in steps of that length.
 */
export function embeddedTexts(bytes: Buffer, from: number, to: number): Stretch[] {
  const texts: Stretch[] = [];
  let at = from;
  while (to - at > minEmbeddedBytes) {
    const last = bytes.lastIndexOf(tagStart, at + minEmbeddedBytes);
    if (last > at) {
      at = last;
      continue;
    }
    const found = bytes.indexOf(tagStart, at + minEmbeddedBytes + 1);
    const end = found < 0 || found > to ? to : found;
    const close = bytes.indexOf(tagEnd, at);
    const begin = close >= at && close < end ? close + 1 : at;
    if (begin > from || end < to) texts.push({ from: begin, to: end });
    at = end;
  }
  return texts;
}
