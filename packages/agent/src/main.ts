/**
 * The command `emanet`. Only this file reads the clock, draws random bytes and writes to the standard streams.
 *
 * The pages of Node's buffer pool are made small before anything is loaded: one small buffer that is kept keeps its whole page in
 * memory, and a walk makes millions.
 */

import { spawnSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { statfsSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { setTimeout as delay } from "node:timers/promises";
import { isMainThread } from "node:worker_threads";
import type { AgentContext } from "./context.ts";

/** A small buffer that is kept keeps its whole page of the pool in memory. */
const bufferPoolBytes = 4096;

/** After the second signal the process ends at once; after the first one it has so long to end its upload. */
const graceMs = 10_000;

/** Of a terminal that does not say how wide it is. */
const usualColumns = 80;

/** Verbs whose work is more than their output: they go on without a reader. */
const worksWithoutReader: ReadonlySet<string> = new Set(["backup", "restore", "forget", "prune", "repack", "rebuild"]);

// In a bundle threads may begin here too.
if (isMainThread) await main();
else await import("@emanet/engine/threads");

async function main(): Promise<void> {
  const { directory } = enableCompileCache();
  // Threads read this variable.
  if (directory !== undefined) process.env.NODE_COMPILE_CACHE ??= directory;
  Buffer.poolSize = bufferPoolBytes;
  const [{ runCommand }, { readEnvironment }, { textsOf }, { version }] = await Promise.all([
    import("./run.ts"),
    import("./config.ts"),
    import("./output/texts.ts"),
    import("./version.ts"),
  ]);
  const environment = readEnvironment();
  const context: AgentContext = {
    environment,
    texts: textsOf(environment.language),
    version,
    now: () => Date.now(),
    random: (length) => randomBytes(length),
    newKey: () => randomUUID(),
    wait: async (ms, signal) => {
      await delay(ms, undefined, signal === undefined ? {} : { signal });
    },
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    outBytes: async (bytes) => {
      if (!process.stdout.write(bytes)) await once(process.stdout, "drain");
    },
    stdin: process.stdin,
    freeBytes: (folder) => {
      const { bavail, bsize } = statfsSync(folder);
      return bavail * bsize;
    },
    program: [process.execPath, process.argv[1] ?? ""],
    execute: ([command = "", ...args], input) => {
      const ran = spawnSync(command, args, { encoding: "utf8", ...(input !== undefined && { input }) });
      return { code: ran.status ?? 1, output: ran.error?.message ?? `${ran.stdout}${ran.stderr}` };
    },
    // A terminal whose size nobody set has 0 columns.
    terminalColumns: () => (process.stderr.isTTY ? process.stderr.columns || usualColumns : null),
    signal: interruption(),
  };
  watchOutput(process.argv[2] ?? "");
  // The output may have failed meanwhile.
  process.exitCode = (await runCommand(process.argv.slice(2), context)) || process.exitCode;
  // Errors of the output come after the write, and what waits for its reader is still to be written.
  await new Promise((resolve) => {
    process.stdout.write("", resolve);
  });
  // Threads and kept connections may still be open; nothing is left to be done.
  process.exit();
}

function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(130);
      controller.abort(new DOMException(`ended by ${name}`, "AbortError"));
      setTimeout(() => process.exit(130), graceMs).unref();
    });
  return controller.signal;
}

/** A reader that closes the pipe (`| head`) is no failure. After any error of the output, verbs that only print end. */
function watchOutput(verb: string): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") sayOutputFailed(error);
    if (!worksWithoutReader.has(verb)) process.exit();
  });
  process.stderr.on("error", () => {
    // Nobody reads the messages. The exit code still says how it ended.
  });
}

/** Without this a list on a full disk would be empty, and the command would say that all is well. */
function sayOutputFailed({ code, message }: NodeJS.ErrnoException): void {
  process.exitCode ||= 1;
  const reason = code === "ENOSPC" ? "the disk is full" : message;
  process.stderr.write(`emanet: the output cannot be written: ${reason}\n`);
}
