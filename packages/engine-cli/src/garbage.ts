/**
 * Runs the garbage collector now and then during long walks. V8 lets 64 MiB of small buffers pile up before it sees a
 * reason to collect; a walk over a million files makes them all the time, and memory is promised to stay small.
 */

import { runInNewContext } from "node:vm";

/** Files between two collections: each costs some twenty milliseconds. */
const filesBetween = 16_384;

/** A function to be told how many files are done; it collects when enough have passed. main.ts sets the flag it needs. */
export function garbageCollector(): (files: number) => void {
  let collect: (() => void) | undefined;
  let last = 0;
  return (files) => {
    if (files - last < filesBetween) return;
    last = files;
    // The flag was set after this context was made; a new one has the function.
    collect ??= runInNewContext("gc") as () => void;
    collect();
  };
}
