/**
 * The `engine` command: a local repository without the service, for tools and experiments.
 *
 * A package of its own, because it joins engine and storage: the engine itself imports nothing of ours.
 *
 * Memory is bounded in two ways before anything is loaded: Node's compile cache spares every thread the type stripper,
 * and the work is done in a thread whose heap has a limit (a main thread's can only be limited by a flag of Node's).
 */

import { enableCompileCache } from "node:module";
import { Worker } from "node:worker_threads";

/** The pipeline keeps nothing per file; this is room for its queues and for SQLite's rows on their way. */
const heapMib = 48;
const youngHeapMib = 3;

const { directory } = enableCompileCache();
const env = { ...process.env, ...(directory === undefined ? {} : { NODE_COMPILE_CACHE: directory }) };
const worker = new Worker(new URL("./thread.ts", import.meta.url), {
  argv: process.argv.slice(2),
  env,
  resourceLimits: { maxOldGenerationSizeMb: heapMib, maxYoungGenerationSizeMb: youngHeapMib },
});
worker.on("message", (code: number) => {
  process.exitCode = code;
});
worker.on("error", (error) => {
  process.stderr.write(`engine: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
