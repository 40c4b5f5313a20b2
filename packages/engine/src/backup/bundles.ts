/**
 * Decides what is cut together: small files become bundles, large ones stripes. Pure functions.
 *
 * - A *bundle* is several small files. Whether it ends after a file is decided by a hash of the file's name, with a
 *   probability in proportion to the file's size. So bundles have a megabyte on average (or 256 files if they are tiny),
 *   and the same files form the same bundles again, at any place of the walk.
 * - A *stripe* is 64 MiB of a large file. Stripes are cut independently, so one large file keeps every core busy. The
 *   cost is one segment per stripe that no longer matches after an insertion.
 */

import { hash32 } from "../format/hash.ts";
import type { SegmentReference } from "../format/tree-entry.ts";
import { maxSegmentBytes, minSegmentBytes, stripeBytes } from "../workers/cutter/cut-limits.ts";

/** Files below this size are bundled. */
export const bundledBelowBytes = 256 * 1024;

/** A bundle is one segment. Its mean is that of other segments (128 blocks of about 8 KiB). */
const meanBundleBytes = 1024 * 1024;

/** Files of a bundle: minimum and mean. */
const minBundleFiles = 64;
const meanBundleFiles = 256;

/**
 * Entries from the first file of a bundle to its last, other entries between them included. They wait in the queue between the walk and
 * the tree. So a bundle never ends because the queue is full: that would depend on how fast content is stored.
 */
export const maxBundleEntries = 768;

/** Whether a bundle must end before this file. */
export function bundleIsFull(bundleBytes: number, size: number): boolean {
  return bundleBytes + size > maxSegmentBytes;
}

/** Whether a bundle ends after this file: by its bytes, or by its number of files if they are tiny. */
export function bundleEndsAfter(bundleBytes: number, bundleFiles: number, name: Uint8Array, size: number): boolean {
  const chance = hash32(name) / 0x1_0000_0000;
  const byBytes = bundleBytes >= minSegmentBytes && chance < size / meanBundleBytes;
  return byBytes || (bundleFiles >= minBundleFiles && chance < 1 / meanBundleFiles);
}

/** The stripes of a large file. */
export function stripesOf(size: number): { readonly offset: number; readonly length: number }[] {
  const stripes: { offset: number; length: number }[] = [];
  for (let offset = 0; offset < size; offset += stripeBytes) {
    stripes.push({ offset, length: Math.min(stripeBytes, size - offset) });
  }
  return stripes;
}

/** The previous version's segments that overlap a range of the file. */
export function overlapping(segments: readonly SegmentReference[], offset: number, bytes: number): number[] {
  const found: number[] = [];
  let at = 0;
  for (const segment of segments) {
    if (at < offset + bytes && at + segment.bytes > offset) found.push(segment.ordinal);
    at += segment.bytes;
  }
  return found;
}
