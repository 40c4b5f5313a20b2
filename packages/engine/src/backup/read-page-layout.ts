/** Reads the first bytes of a file to find out whether it is a page file. */

import { closeSync, openSync, readSync } from "node:fs";
import { asBuffer } from "../format/bytes.ts";
import type { ContentPlace } from "../source/source.ts";
import { readFlags } from "../source/source.ts";
import type { PageLayout } from "../workers/cutter/page-files.ts";
import { probeBytes, recognisePages } from "../workers/cutter/page-files.ts";

/** The page layout of a file; null if it is cut by content. `probe` is a buffer of `probeBytes`. */
export function readPageLayout(content: ContentPlace, size: number, probe: Buffer): PageLayout | null {
  try {
    const fd = openSync(asBuffer(content.path), readFlags);
    try {
      const count = readSync(fd, probe, 0, Math.min(probeBytes, size), content.offset);
      return recognisePages(probe.subarray(0, count), size);
    } finally {
      closeSync(fd);
    }
  } catch {
    // The worker gets the same error and reports it with the file.
    return null;
  }
}
