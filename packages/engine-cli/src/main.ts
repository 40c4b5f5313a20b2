/**
 * The `engine` command: a local repository without the service, for tools and experiments.
 *
 * A package of its own, because it joins engine and storage: the engine itself imports nothing of ours. This file is the
 * only one with a clock and randomness.
 *
 * Memory is bounded before anything is loaded (docs/decisions/0110-memory.md has the figures). Node's compile cache spares
 * every thread the type stripper. The work is done in a thread whose heap has a limit (a main thread's can only be limited
 * by a flag of Node's), and V8 is told to prefer small heaps and to compile and collect in the thread itself: each of its
 * helper threads would keep megabytes of its own. And there Node's pool for small buffers is made small: one small buffer
 * that lives longer keeps its whole pool page alive, and a walk makes millions of them.
 */

import { randomBytes } from "node:crypto";
import { enableCompileCache } from "node:module";
import { setFlagsFromString } from "node:v8";
import { isMainThread, parentPort, Worker } from "node:worker_threads";

/** A backup keeps nothing per file; this is room for its queues and for SQLite's rows on their way. */
const backupHeapMib = 32;
/** Rebuilding and marking hold a row per frame: 1 TiB is some 500 000 of them. */
const otherHeapMib = 1024;
const youngHeapMib = 3;
/** All in one place, before the first thread: the compile cache is kept apart for every set of flags. */
const smallHeapFlags = [
  "--optimize-for-size",
  "--single-threaded-gc",
  "--no-concurrent-recompilation",
  "--expose-gc",
] as const;
/** One small buffer that lives longer holds its whole page of the pool. */
const bufferPoolBytes = 4096;

if (isMainThread) startThread();
else await work();

function startThread(): void {
  const { directory } = enableCompileCache();
  for (const flag of smallHeapFlags) setFlagsFromString(flag);
  const heapMib = process.argv[2] === "backup" ? backupHeapMib : otherHeapMib;
  const worker = new Worker(new URL(import.meta.url), {
    argv: process.argv.slice(2),
    env: { ...process.env, ...(directory === undefined ? {} : { NODE_COMPILE_CACHE: directory }) },
    resourceLimits: { maxOldGenerationSizeMb: heapMib, maxYoungGenerationSizeMb: youngHeapMib },
  });
  worker.on("message", (code: number) => {
    process.exitCode = code;
  });
  worker.on("error", (error) => {
    process.stderr.write(`engine: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
}

async function work(): Promise<void> {
  Buffer.poolSize = bufferPoolBytes;
  const { runCommand } = await import("./run.ts");
  const code = await runCommand(process.argv.slice(2), {
    ctx: { now: () => Date.now(), random: (length) => randomBytes(length) },
    out: (line) => process.stdout.write(`${line}\n`),
    err: (line) => process.stderr.write(`${line}\n`),
  });
  parentPort?.postMessage(code);
}
