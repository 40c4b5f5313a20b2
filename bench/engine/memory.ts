/**
 * Memory that is free is not the same everywhere: a virtual machine may hand it back to its host, and gets it again page
 * by page, at a fault each. Filling the page cache then takes twice as long, which falls on whoever comes first after
 * something large was removed (a full restore at scale M: 9 s instead of 6). So before a program is measured free memory
 * is filled with something that every system drops at once: pages of a file that has no place on disk.
 */

import { closeSync, fstatSync, ftruncateSync, openSync, readFileSync, readSync } from "node:fs";
import path from "node:path";

/** So much is left free: systems begin to drop pages below about a hundredth of the memory. */
const reserveBytes = 512 * 1024 * 1024;

/** On a larger machine filling takes longer than it is worth. */
const mostBytes = 64 * 1024 ** 3;

/** A read; as large as the processor's second cache takes. */
const stepBytes = 1024 * 1024;

/** While memory is filled more of it may become free, as what was removed before goes bit by bit. */
const mostRounds = 4;

/** Fills free memory. The file stays below the folder, and with it what it fills. Nothing happens without /proc. */
export function fillMemory(folder: string): void {
  for (let round = 0; round < mostRounds; round++) {
    const needed = freeBytes() - reserveBytes;
    if (needed <= 0 || needed > mostBytes) return;
    readNothing(path.join(folder, "nothing"), needed);
  }
}

/** What was read before may still be in memory, so the file grows: reading its new part needs new pages. */
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

/** Memory that nothing uses at all, not even as a cache; 0 where the system does not say. */
function freeBytes(): number {
  try {
    return Number(/^MemFree:\s+(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
