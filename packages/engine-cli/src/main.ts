/**
 * The `engine` command: a local repository without the service, for tools and experiments.
 *
 * A package of its own, because it joins engine and storage: the engine itself imports nothing of ours. This file is the
 * only one with a clock and randomness.
 *
 * Memory is bounded in three ways before anything is loaded. Node's compile cache spares every thread the type stripper.
 * The work is done in a thread whose heap has a limit (a main thread's can only be limited by a flag of Node's). And
 * there Node's pool for small buffers is made small: one small buffer that lives longer keeps its whole pool page alive,
 * and a walk makes millions of them.
 */

import { randomBytes } from "node:crypto";
import { enableCompileCache } from "node:module";
import { isMainThread, parentPort, Worker } from "node:worker_threads";

/** The pipeline keeps nothing per file; this is room for its queues and for SQLite's rows on their way. */
const heapMib = 48;
const youngHeapMib = 3;
const bufferPoolBytes = 4096;

if (isMainThread) startThread();
else await work();

function startThread(): void {
  const { directory } = enableCompileCache();
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
