/**
 * Limits the memory of a long run (docs/decisions/0110-memory-of-a-million-files.md has the figures). V8 flags stop the
 * growth of the young generation, and make V8 compile and collect garbage in the same thread, because each of its
 * helper threads would keep megabytes. After very many files a flag also prefers small heaps, which makes a first
 * backup 7 % slower (docs/decisions/0124). The flags are set while the process runs, once the run is a long one: a
 * short one needs little memory and would lose 1 % of its time by loading the module that sets them.
 */

/** The young generation does not grow, and V8 compiles and collects garbage in the same thread. */
const noGrowthFlags = [
  "--no-parallel-scavenge",
  "--no-concurrent-recompilation",
  "--semi-space-growth-factor=1",
] as const;

const smallHeapFlags = [...noGrowthFlags, "--optimize-for-size"] as const;

/**
 * Files between two garbage collections, each of which takes some twenty milliseconds. V8 alone collects only after 64 MiB of
 * small buffers, and a walk over a million files makes very many.
 */
const filesBetween = 16_384;

/** Stops the growth of this heap and of those of later threads. Must be called before the first thread starts. */
export function stopHeapGrowth(): void {
  setFlags(noGrowthFlags);
}

/** Makes V8 prefer small heaps. */
export function preferSmallHeaps(): void {
  setFlags(smallHeapFlags);
}

function setFlags(flags: readonly string[]): void {
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  for (const flag of flags) setFlagsFromString(flag);
}

/** Returns a function that takes the number of files done. After many files it sets the flags and collects garbage. */
export function garbageCollector(): (files: number) => void {
  let collect: (() => void) | undefined;
  let last = 0;
  return (files) => {
    if (files - last < filesBetween) return;
    last = files;
    if (collect === undefined) {
      preferSmallHeaps();
      collect = exposedCollector();
    }
    collect();
  };
}

/** V8's `gc` function. Only a context that is made after the flag was set has it. */
function exposedCollector(): () => void {
  process.getBuiltinModule("node:v8").setFlagsFromString("--expose-gc");
  return process.getBuiltinModule("node:vm").runInNewContext("gc") as () => void;
}
