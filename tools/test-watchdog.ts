/**
 * Ends a test file that does not end. Node's own time limit fails a test, but a file whose process lives on (a handle
 * left open, an endless loop) would hold up the run for ever. `tools/test.ts` loads this module into every test file.
 *
 * It counts in another thread, which runs even if the thread of the file is stuck.
 */

import path from "node:path";
import { Worker } from "node:worker_threads";

/** Seconds that the process of a test file, or of a group of them, may take. */
export const fileTimeoutVariable = "EMANET_TEST_FILE_TIMEOUT";

/** After the tests' own time limit: for their clean-up, and for the report of the failed test. */
const graceMs = 5_000;

const seconds = Number(process.env[fileTimeoutVariable]);
// Node sets this in the processes of test files, not in the runner's own, which loads this module too.
const watchdog = process.env.NODE_TEST_CONTEXT !== undefined && seconds > 0 ? startWatchdog(seconds) : null;

/** Names the file that runs now, for the message. */
export function watchFile(file: string): void {
  watchdog?.postMessage(file);
}

function startWatchdog(limitSeconds: number): Worker {
  const program = `
    const { parentPort, workerData } = require("node:worker_threads");
    let file = workerData;
    parentPort.on("message", (next) => {
      file = next;
    });
    setTimeout(() => {
      require("node:fs").writeSync(2, file + " did not end within ${limitSeconds} s; killed\\n");
      process.kill(process.pid, "SIGKILL");
    }, ${limitSeconds * 1000 + graceMs});`;
  const worker = new Worker(program, { eval: true, workerData: path.basename(process.argv[1] ?? "") });
  worker.unref();
  return worker;
}
