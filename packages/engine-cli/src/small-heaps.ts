/**
 * What keeps the memory of a long run small (docs/decisions/0110-memory.md has the figures). V8 is told never to let the
 * young generation grow, and to compile and collect in the thread itself: each of its helper threads would keep megabytes
 * of its own. After very many files it is also told to prefer small heaps, which costs a first backup a fifteenth of its
 * time (docs/decisions/0124). All of this can be told to a running process, and is told when the run turns out to be a
 * long one: a short one has no memory to save, and loading what tells V8 costs it a hundredth.
 */

const steadyHeapFlags = [
  "--no-parallel-scavenge",
  "--no-concurrent-recompilation",
  "--semi-space-growth-factor=1",
] as const;

const smallHeapFlags = [...steadyHeapFlags, "--optimize-for-size"] as const;

/**
 * Files between two collections: each costs some twenty milliseconds. V8 lets 64 MiB of small buffers pile up before it
 * sees a reason to collect; a walk over a million files makes them all the time.
 */
const filesBetween = 16_384;

/** Tells V8 not to let heaps grow, this one and those of threads to come. To be called before the first thread. */
export function keepHeapsSteady(): void {
  tell(steadyHeapFlags);
}

/** Tells V8 to keep heaps as small as it can. */
export function keepHeapsSmall(): void {
  tell(smallHeapFlags);
}

function tell(flags: readonly string[]): void {
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  for (const flag of flags) setFlagsFromString(flag);
}

/** A function to be told how many files are done; after many it keeps heaps small, and collects now and then. */
export function garbageCollector(): (files: number) => void {
  let collect: (() => void) | undefined;
  let last = 0;
  return (files) => {
    if (files - last < filesBetween) return;
    last = files;
    if (collect === undefined) {
      keepHeapsSmall();
      collect = collectorOfV8();
    }
    collect();
  };
}

/** A context that is made after the flag was set has the function. */
function collectorOfV8(): () => void {
  process.getBuiltinModule("node:v8").setFlagsFromString("--expose-gc");
  return process.getBuiltinModule("node:vm").runInNewContext("gc") as () => void;
}
