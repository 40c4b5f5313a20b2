/**
 * The `engine` command: a local repository without the service, for tools and experiments.
 *
 * A package of its own, because it joins engine and storage: the engine itself imports nothing of ours. This file is the
 * only one with a clock and randomness.
 *
 * Node's compile cache spares this process and every thread the type stripper. Node's pool for small buffers is made
 * small before anything is loaded: one small buffer that lives longer keeps its whole pool page alive, and a walk makes
 * millions. The rest of what bounds memory is in `small-heaps.ts`.
 */

import { randomBytes } from "node:crypto";
import { enableCompileCache } from "node:module";

/** One small buffer that lives longer holds its whole page of the pool. */
const bufferPoolBytes = 4096;

const { directory } = enableCompileCache();
// Threads look for it here.
if (directory !== undefined) process.env.NODE_COMPILE_CACHE ??= directory;
Buffer.poolSize = bufferPoolBytes;

const { runCommand } = await import("./run.ts");
process.exitCode = await runCommand(process.argv.slice(2), {
  ctx: { now: () => Date.now(), random: (length) => randomBytes(length) },
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
});
