/**
 * The thread in which a command runs; see `main.ts`. Node's pool for small buffers is made small before anything is
 * loaded: one small buffer that lives longer keeps its whole pool page alive, and a walk makes millions of them.
 */

import { parentPort } from "node:worker_threads";

Buffer.poolSize = 4096;
const { runCommand } = await import("./run.ts");
const code = await runCommand(process.argv.slice(2), {
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
});
parentPort?.postMessage(code);
