/**
 * The `engine` command: a local repository without the service, for tools and experiments.
 *
 * A package of its own, because it joins engine and storage: the engine itself imports nothing of ours. It turns on
 * Node's compile cache before loading anything else: workers then start without the type stripper, which saves a third
 * of the memory.
 */

import { enableCompileCache } from "node:module";

const { directory } = enableCompileCache();
if (directory !== undefined) process.env.NODE_COMPILE_CACHE ??= directory;
const { runCommand } = await import("./run.ts");
process.exitCode = await runCommand(process.argv.slice(2), {
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
});
