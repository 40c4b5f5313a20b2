/**
 * The `engine` command: a local repository without the service, for tools and experiments.
 *
 * It is a separate package because it needs both engine and storage; the engine imports no other package of ours. Only this
 * file reads the clock and draws random bytes.
 *
 * With Node's compile cache neither this process nor a thread strips types again. The pages of Node's buffer pool are made
 * small before anything is loaded: one small buffer that is kept keeps its whole page in memory, and a walk makes millions.
 * `small-heaps.ts` has the other limits of memory.
 */

import { randomBytes } from "node:crypto";
import { enableCompileCache } from "node:module";

/** A small buffer that is kept keeps its whole page of the pool in memory. */
const bufferPoolBytes = 4096;

const { directory } = enableCompileCache();
// Threads read this variable.
if (directory !== undefined) process.env.NODE_COMPILE_CACHE ??= directory;
Buffer.poolSize = bufferPoolBytes;

const { runCommand } = await import("./run.ts");
process.exitCode = await runCommand(process.argv.slice(2), {
  ctx: { now: () => Date.now(), random: (length) => randomBytes(length) },
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
});
