/**
 * A virtual machine may give free memory back to its host, and gets it again page by page, with a page fault for each.
 * Filling the page cache then takes twice as long. This slows the first program that runs after something large was
 * removed (a full restore at scale M: 9 s instead of 6). So free memory is filled before a program is measured, with pages
 * that every system drops at once: pages of a sparse file.
 */

import { closeSync, fstatSync, ftruncateSync, openSync, readFileSync, readSync } from "node:fs";
import path from "node:path";

/** This much stays free: systems begin to drop pages below about a hundredth of the memory. */
const reserveBytes = 512 * 1024 * 1024;

/** On a larger machine filling takes longer than it is worth. */
const mostBytes = 64 * 1024 ** 3;

/** Read at once; fits into the second cache of the processor. */
const stepBytes = 1024 * 1024;

/** More memory may become free while it is filled: removed files are freed little by little. */
const mostRounds = 4;

/** Fills free memory. The file stays in the folder, so its pages stay in memory. Does nothing without /proc. */
export function fillMemory(folder: string): void {
  for (let round = 0; round < mostRounds; round++) {
    const needed = freeBytes() - reserveBytes;
    if (needed <= 0 || needed > mostBytes) return;
    readNothing(path.join(folder, "nothing"), needed);
  }
}

/** Pages read before may still be in memory, so the file grows: reading its new part needs new pages. */
function readNothing(file: string, bytes: number): void {
  const fd = openSync(file, "a+");
  try {
    const from = fstatSync(fd).size;
    ftruncateSync(fd, from + bytes);
    const step = Buffer.alloc(stepBytes);
    for (let at = from; at < from + bytes; at += stepBytes) readSync(fd, step, 0, stepBytes, at);
  } finally {
    closeSync(fd);
  }
}

/** Memory that nothing uses, not even as a cache; 0 on systems without /proc. */
function freeBytes(): number {
  try {
    return Number(/^MemFree:\s+(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
