/**
 * Plans what is cut together: small files become bundles, large ones stripes. Pure decisions.
 *
 * - A *bundle* ends after a file with a chance in proportion to the file's size, decided by a hash of its name: on
 *   average a megabyte, or 256 files where they are tiny, and the same files make the same bundles wherever they stand in the walk.
 * - A *stripe* is 64 MiB of a large file. Stripes are cut independently, so one large file keeps every core busy; the
 *   price is one broken segment per stripe after an insertion.
 */

import { spread32 } from "../format/hash.ts";
import type { SegmentReference } from "../format/tree-entry.ts";
import { maxSegmentBytes, minSegmentBytes } from "../workers/cutter/segment-length.ts";

/** Files below this size are bundled. */
export const bundledBelow = 256 * 1024;

/** Several per large file, so that every core has work; each costs a broken segment per insertion, so not smaller. */
export const stripeBytes = 64 * 1024 * 1024;

/** A bundle is one segment: the mean that other segments have too (128 blocks of about 8 KiB). */
const meanBundleBytes = 1024 * 1024;

/** Files of a bundle: at least, on average and at most. The most must fit the queue between walk and tree. */
const minBundleFiles = 64;
const meanBundleFiles = 256;
const maxBundleFiles = 768;

/** Whether a bundle ends before taking this file in. */
export function bundleIsFull(bundleBytes: number, bundleFiles: number, size: number): boolean {
  return bundleBytes + size > maxSegmentBytes || bundleFiles >= maxBundleFiles;
}

/** Whether a bundle ends after this file: by its bytes, or by its number where files are tiny. */
export function bundleEndsAfter(bundleBytes: number, bundleFiles: number, name: Uint8Array, size: number): boolean {
  const draw = spread32(name) / 0x1_0000_0000;
  const byBytes = bundleBytes >= minSegmentBytes && draw < size / meanBundleBytes;
  return byBytes || (bundleFiles >= minBundleFiles && draw < 1 / meanBundleFiles);
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
