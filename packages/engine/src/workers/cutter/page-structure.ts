/**
 * Finds the pages of a file whose format is not known. Programs that write pages begin each with a header: a page number, a type, a
 * version. So the bytes at the start of all pages agree in several places, and the bytes inside pages do not.
 *
 * For every page size and every sector where the first page may start, the bytes at one offset of all pages are a *column*. A
 * column is *constant* if nine of ten pages have the same byte there. Pages are found where many more columns are constant in the first
 * bytes of pages than inside them. Text, compressed data, zeros and records of a fixed length have no such place.
 */

/** The layout of a page file: `phase` bytes before the first page, then pages of `pageBytes`. */
export interface PageLayout {
  readonly pageBytes: number;
  readonly phase: number;
}

/** Page sizes of databases, from small to large: a larger multiple of the true size would fit too. */
const pageSizes = [4096, 8192, 16384, 32768];

/** Where the first page may start: after a preamble of whole sectors. */
const sectorBytes = 512;

/** Bytes of a page that count as its header. Those of SQL Server, PostgreSQL, InnoDB, Firebird and Access are this long or longer. */
const headerBytes = 32;

/** Fewer pages agree by chance. Pages of zeros are not counted. */
const minPages = 7;

/** The share of pages that must have the same byte in a constant column. */
const constantShare = 0.9;

/** Constant columns that a header must have at least: the high bytes of a page number alone are three. */
const minConstantColumns = 3;

/**
 * How many times more of the header's columns must be constant than of the columns inside pages. In a file with many zeros
 * columns are constant by chance, in a file of records everywhere.
 */
const minContrast = 3;

/** Columns inside pages that are compared. */
const bodyColumns = 128;

/** The layout of the pages in the first bytes of a file, or null. */
export function findPages(head: Uint8Array): PageLayout | null {
  for (const pageBytes of pageSizes) {
    let best = { phase: 0, columns: 0 };
    for (let phase = 0; phase < pageBytes; phase += sectorBytes) {
      const pages = filledPages(head, pageBytes, phase);
      const columns = pages.length < minPages ? 0 : headerColumns(head, pages);
      if (columns < minConstantColumns || columns <= best.columns) continue;
      if (columns >= neededColumns(head, pages, pageBytes)) best = { phase, columns };
    }
    if (best.columns > 0) return smallestPages(head, pageBytes, best.phase, best.columns);
  }
  return null;
}

/** Halves the page size as long as the pages in between have the same header. In repetitive pages only a multiple of the true size was found. */
function smallestPages(head: Uint8Array, pageBytes: number, phase: number, columns: number): PageLayout {
  const [least = pageBytes] = pageSizes;
  let found = { pageBytes, phase };
  for (let half = pageBytes / 2; half >= least; half /= 2) {
    if (headerColumns(head, filledPages(head, half, phase % half)) < columns) break;
    found = { pageBytes: half, phase: phase % half };
  }
  return found;
}

/** Where the pages start that are not all zeros, according to a sample of their bytes. */
function filledPages(head: Uint8Array, pageBytes: number, phase: number): number[] {
  const starts: number[] = [];
  for (let start = phase; start + pageBytes <= head.length; start += pageBytes) {
    let isFilled = false;
    for (let at = start; at < start + pageBytes && !isFilled; at += at < start + headerBytes ? 1 : 61)
      isFilled = head[at] !== 0;
    if (isFilled) starts.push(start);
  }
  return starts;
}

function headerColumns(head: Uint8Array, pages: readonly number[]): number {
  let count = 0;
  for (let offset = 0; offset < headerBytes; offset++) if (isConstant(head, pages, offset)) count++;
  return count;
}

/** How many columns of the header must be constant, given how many inside pages are. */
function neededColumns(head: Uint8Array, pages: readonly number[], pageBytes: number): number {
  const first = 2 * headerBytes;
  let constant = 0;
  for (let i = 1; i <= bodyColumns; i++)
    if (isConstant(head, pages, first + (mixed(i) % (pageBytes - first)))) constant++;
  return minConstantColumns + (minContrast * headerBytes * constant) / bodyColumns;
}

/** Spreads the columns. At equal distances they could all meet the same byte of a record. */
function mixed(i: number): number {
  let bits = Math.imul(i, 0x9e3779b1);
  bits = Math.imul(bits ^ (bits >>> 15), 0x85ebca77);
  return (bits ^ (bits >>> 13)) >>> 0;
}

/** Whether enough pages have the same byte at this offset. */
function isConstant(head: Uint8Array, pages: readonly number[], offset: number): boolean {
  const most = Math.floor(pages.length * (1 - constantShare));
  // The byte of one of the first pages must be the common one: if none of them is, too many differ.
  for (let i = 0; i <= most; i++) {
    const value = head[(pages[i] ?? 0) + offset];
    let others = 0;
    for (const page of pages) if (head[page + offset] !== value && ++others > most) break;
    if (others <= most) return true;
  }
  return false;
}
