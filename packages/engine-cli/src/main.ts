/**
 * The `engine` command: a local repository without the service, for tools and experiments.
 *
 * A package of its own, because it joins engine and storage: the engine itself imports nothing of ours. This file is the
 * only one with a clock and randomness.
 *
 * Memory is bounded before anything is loaded (docs/decisions/0110-memory.md has the figures). Node's compile cache spares
 * every thread the type stripper. V8 is told to prefer small heaps, never to let the young generation grow, and to compile
 * and collect in the thread itself: each of its helper threads would keep megabytes of its own. And Node's pool for small
 * buffers is made small: one small buffer that lives longer keeps its whole pool page alive, and a walk makes millions.
 * All of this works on a running main thread; a thread of its own for the work, which could have a hard limit, costs
 * every command 45 ms (docs/decisions/0121-nothing-changed.md).
 */

import { randomBytes } from "node:crypto";
import { enableCompileCache } from "node:module";
import { setFlagsFromString } from "node:v8";

/** All in one place, before the first thread: the compile cache is kept apart for every set of flags. */
const smallHeapFlags = [
  "--optimize-for-size",
  "--single-threaded-gc",
  "--no-concurrent-recompilation",
  "--semi-space-growth-factor=1",
  "--expose-gc",
] as const;
/** One small buffer that lives longer holds its whole page of the pool. */
const bufferPoolBytes = 4096;

enableCompileCache();
for (const flag of smallHeapFlags) setFlagsFromString(flag);
Buffer.poolSize = bufferPoolBytes;

const { runCommand } = await import("./run.ts");
process.exitCode = await runCommand(process.argv.slice(2), {
  ctx: { now: () => Date.now(), random: (length) => randomBytes(length) },
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
});
