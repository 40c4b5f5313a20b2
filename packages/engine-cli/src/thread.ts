/** The thread in which a command runs; see `main.ts`. */

import { parentPort } from "node:worker_threads";
import { runCommand } from "./run.ts";

const code = await runCommand(process.argv.slice(2), {
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
});
parentPort?.postMessage(code);
