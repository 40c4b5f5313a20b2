/**
 * What keeps the memory of a long run small (docs/decisions/0110-memory.md has the figures). V8 is told to prefer small
 * heaps, never to let the young generation grow, and to compile and collect in the thread itself: each of its helper
 * threads would keep megabytes of its own. All of this can be told to a running process, and is told when the run turns
 * out to be a long one: a short one has no memory to save, small heaps would cost it a seventh of its time, and loading
 * what tells V8 a hundredth.
 */

const smallHeapFlags = [
  "--optimize-for-size",
  "--no-parallel-scavenge",
  "--no-concurrent-recompilation",
  "--semi-space-growth-factor=1",
] as const;

/**
 * Files between two collections: each costs some twenty milliseconds. V8 lets 64 MiB of small buffers pile up before it
 * sees a reason to collect; a walk over a million files makes them all the time.
 */
const filesBetween = 16_384;

let isTold = false;

/** Tells V8 to keep heaps small, this one and those of threads to come. To be called before the first thread. */
export function keepHeapsSmall(): void {
  if (isTold) return;
  isTold = true;
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  for (const flag of smallHeapFlags) setFlagsFromString(flag);
}

/** A function to be told how many files are done; after many it keeps heaps small, and collects now and then. */
export function garbageCollector(): (files: number) => void {
  let collect: (() => void) | undefined;
  let last = 0;
  return (files) => {
    if (files - last < filesBetween) return;
    last = files;
    keepHeapsSmall();
    collect ??= collectorOfV8();
    collect();
  };
}

/** A context that is made after the flag was set has the function. */
function collectorOfV8(): () => void {
  process.getBuiltinModule("node:v8").setFlagsFromString("--expose-gc");
  return process.getBuiltinModule("node:vm").runInNewContext("gc") as () => void;
}
