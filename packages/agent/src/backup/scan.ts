/** Counts the files and bytes of a source, beside a first backup of it, for its progress bar. */

import type { BackupSource } from "@emanet/engine/backup";
import type { Total } from "../output/progress-bar.ts";

/** Files between two pauses: the backup has the same thread. */
const filesPerTurn = 64;

export async function scanTotal({ walk }: BackupSource, signal: AbortSignal): Promise<Total> {
  let [files, bytes] = [0, 0];
  for await (const event of walk()) {
    signal.throwIfAborted();
    if (event.type !== "file") continue;
    files++;
    bytes += event.size;
    if (files % filesPerTurn === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return { files, bytes };
}
