/**
 * Recognises page files (databases, disk images) by their first bytes: by known formats, and otherwise by a structure that
 * repeats from page to page (`page-structure.ts`). They change in aligned pages. Cut at the page size, a changed database
 * stores 1.7 % of its bytes; with content-defined blocks it stores 3 % (docs/decisions/0104). A wrong guess costs space, never
 * correctness, because a restore does not depend on how a file was cut.
 */

import type { PageLayout } from "./page-structure.ts";
import { findPages } from "./page-structure.ts";

export type { PageLayout } from "./page-structure.ts";

/** Bytes of a file's start that `recognisePages` examines. */
export const probeBytes = 256 * 1024;

/** Shorter files are not cut as pages. */
export const minPageFileBytes = 512 * 1024;

const sqlServerPage = 8192;

/** The sector size of dumps and disk images. */
const sectorBytes = 512;

/** Blocks below 4 KiB cost more in block lists than they save; blocks have at most 64 KiB. */
const minPageBytes = 4096;
const maxPageBytes = 64 * 1024;

/** Share of the examined pages that must look like SQL Server's. */
const minPageShare = 0.75;

/** The page layout of a file that starts with `head`, or null if the file is cut by content. */
export function recognisePages(head: Uint8Array, size: number): PageLayout | null {
  if (size < minPageFileBytes || head.length < sectorBytes * 4) return null;
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  return (
    sqlitePages(bytes) ?? firebirdPages(bytes) ?? sqlServerPages(bytes) ?? diskImagePages(bytes) ?? findPages(bytes)
  );
}

function sqlitePages(head: Buffer): PageLayout | null {
  if (head.subarray(0, 16).toString("latin1") !== "SQLite format 3\0") return null;
  const stored = head.readUInt16BE(16);
  return layoutOf(stored === 1 ? 65536 : stored);
}

/** Firebird: a header page (type 1), its page size at 16, its on-disk structure version (8 and up, top bit set) at 18. */
function firebirdPages(head: Buffer): PageLayout | null {
  const size = head.readUInt16LE(16);
  const structure = head.readUInt16LE(18) & 0x7fff;
  const plausible = head[0] === 1 && (head[1] ?? 0) === 0 && structure >= 8 && structure <= 20;
  return plausible && (size === 4096 || size === 8192 || size === 16384 || size === 32768) ? layoutOf(size) : null;
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
  if (best.share >= minPageShare) return { pageBytes: sqlServerPage, phase: best.phase };
  const isTape = head.subarray(0, 4).toString("latin1") === "TAPE";
  return isTape ? { pageBytes: sqlServerPage, phase: 0 } : null;
}

function pageShare(head: Buffer, phase: number): number {
  let pages = 0;
  let matching = 0;
  for (let at = phase; at + sqlServerPage <= head.length; at += sqlServerPage) {
    pages++;
    const type = head[at + 1] ?? 0;
    if (head[at] === 1 && type >= 1 && type <= 20) matching++;
  }
  return pages < 8 ? 0 : matching / pages;
}

/** Raw and container disk images: a partition table, or the magic bytes of a file system or a container. */
function diskImagePages(head: Buffer): PageLayout | null {
  const hasMagic = (at: number, text: string) => head.subarray(at, at + text.length).toString("latin1") === text;
  const bootSector =
    head[510] === 0x55 &&
    head[511] === 0xaa &&
    (hasMagic(3, "NTFS    ") || hasMagic(512, "EFI PART") || head[446] === 0x80);
  const ext = head.readUInt16LE(1080) === 0xef53 && head.readUInt32LE(1048) <= 6;
  const container = hasMagic(0, "QFI\xfb") || hasMagic(0, "KDMV") || hasMagic(0, "vhdxfile") || hasMagic(0, "conectix");
  return bootSector || ext || container ? layoutOf(sqlServerPage) : null;
}

function layoutOf(pageBytes: number): PageLayout {
  let size = pageBytes;
  while (size < minPageBytes) size *= 2;
  return { pageBytes: Math.min(size, maxPageBytes), phase: 0 };
}
