/**
 * Runs the garbage collector now and then during long walks. V8 lets 64 MiB of small buffers pile up before it sees a
 * reason to collect; a walk over a million files makes them all the time, and memory is promised to stay small.
 */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Files between two collections: each costs some twenty milliseconds. */
const filesBetween = 16_384;

/** A function to be told how many files are done; it collects when enough have passed. */
export function garbageCollector(): (files: number) => void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  let last = 0;
  return (files) => {
    if (files - last < filesBetween || typeof collect !== "function") return;
    last = files;
    collect();
  };
}
