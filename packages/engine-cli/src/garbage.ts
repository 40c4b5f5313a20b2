/**
 * Runs the garbage collector now and then during long walks. V8 lets 64 MiB of small buffers pile up before it sees a
 * reason to collect; a walk over a million files makes them all the time, and memory is promised to stay small.
 */

/** Files between two collections: each costs some twenty milliseconds. */
const filesBetween = 16_384;

/** A function to be told how many files are done; it collects when enough have passed, where main.ts made that possible. */
export function garbageCollector(): (files: number) => void {
  const collect = globalThis.gc;
  let last = 0;
  return (files) => {
    if (files - last < filesBetween || collect === undefined) return;
    last = files;
    void collect();
  };
}
