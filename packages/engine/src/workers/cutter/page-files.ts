/**
 * Recognises page files by what is in them. Databases and disk images change in aligned pages; cut at the page size they
 * deduplicate at 1.7 % where content-defined blocks need 3 % (docs/decisions/0104). A wrong guess costs space, never
 * correctness: how a file is cut is not part of how it is read.
 */

/** How a file's pages lie: `phase` bytes before the first page, then pages of `pageBytes`. */
export interface PageLayout {
  readonly pageBytes: number;
  readonly phase: number;
}

/** Bytes of a file's start that `recognisePages` wants to see. */
export const probeBytes = 256 * 1024;

/** Shorter files are bundled and never cut as pages. */
export const minPageFileBytes = 512 * 1024;

const sqlServerPage = 8192;

/** Dumps and disk images are laid out in sectors of this size. */
const sectorBytes = 512;

/** Blocks below 4 KiB make directories larger than they save; above 64 KiB they are no blocks. */
const minPageBytes = 4096;
const maxPageBytes = 64 * 1024;

/** Share of the looked-at pages that must look like SQL Server's to be taken for them. */
const pageQuorum = 0.75;

/** The page shape of a file that starts with `head`, or null for one to be cut by content. */
export function recognisePages(head: Uint8Array, size: number): PageLayout | null {
  if (size < minPageFileBytes || head.length < sectorBytes * 4) return null;
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  return sqlitePages(bytes) ?? firebirdPages(bytes) ?? sqlServerPages(bytes) ?? diskImagePages(bytes);
}

function sqlitePages(head: Buffer): PageLayout | null {
  if (head.subarray(0, 16).toString("latin1") !== "SQLite format 3\0") return null;
  const stored = head.readUInt16BE(16);
  return shapeOf(stored === 1 ? 65536 : stored);
}

/** Firebird: a header page (type 1), its page size at 16, its on-disk structure version (8 and up, top bit set) at 18. */
function firebirdPages(head: Buffer): PageLayout | null {
  const size = head.readUInt16LE(16);
  const structure = head.readUInt16LE(18) & 0x7fff;
  const plausible = head[0] === 1 && (head[1] ?? 0) === 0 && structure >= 8 && structure <= 20;
  return plausible && (size === 4096 || size === 8192 || size === 16384 || size === 32768) ? shapeOf(size) : null;
}

/**
 * SQL Server data files and dumps: 8 KiB pages whose header starts with version 1 and a page type of 1–20. In a dump
 * (Microsoft Tape Format) the pages follow a preamble, so every sector offset is tried.
 */
function sqlServerPages(head: Buffer): PageLayout | null {
  let best = { phase: 0, share: 0 };
  for (let phase = 0; phase < sqlServerPage; phase += sectorBytes) {
    const share = pageShare(head, phase);
    if (share > best.share) best = { phase, share };
  }
  if (best.share >= pageQuorum) return { pageBytes: sqlServerPage, phase: best.phase };
  const isTape = head.subarray(0, 4).toString("latin1") === "TAPE";
  return isTape ? { pageBytes: sqlServerPage, phase: 0 } : null;
}

function pageShare(head: Buffer, phase: number): number {
  let pages = 0;
  let alike = 0;
  for (let at = phase; at + sqlServerPage <= head.length; at += sqlServerPage) {
    pages++;
    const type = head[at + 1] ?? 0;
    if (head[at] === 1 && type >= 1 && type <= 20) alike++;
  }
  return pages < 8 ? 0 : alike / pages;
}

/** Raw and container disk images: a partition table, a file system's own mark, or a container's. */
function diskImagePages(head: Buffer): PageLayout | null {
  const mark = (at: number, text: string) => head.subarray(at, at + text.length).toString("latin1") === text;
  const bootSector =
    head[510] === 0x55 && head[511] === 0xaa && (mark(3, "NTFS    ") || mark(512, "EFI PART") || head[446] === 0x80);
  const ext = head.readUInt16LE(1080) === 0xef53 && head.readUInt32LE(1048) <= 6;
  const container = mark(0, "QFI\xfb") || mark(0, "KDMV") || mark(0, "vhdxfile") || mark(0, "conectix");
  return bootSector || ext || container ? shapeOf(sqlServerPage) : null;
}

function shapeOf(pageBytes: number): PageLayout {
  let size = pageBytes;
  while (size < minPageBytes) size *= 2;
  return { pageBytes: Math.min(size, maxPageBytes), phase: 0 };
}
