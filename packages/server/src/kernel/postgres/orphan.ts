/**
 * What a killed service left behind: an *orphan* is a postmaster (the server's parent process) that still runs on the
 * cluster although its service is gone; a *stale* `postmaster.pid` names a process that is not one.
 *
 * The caller holds the lock of the data folder, so no live service owns the postmaster found here. A process is
 * signalled only when it is certain to be this cluster's postmaster. Two things must agree: its command line names the
 * socket folder that the pid file names, whose name is random for every start; and its working folder is the cluster.
 * The second recognises a copied data folder, whose pid file names the postmaster of the original.
 */

import { execFile } from "node:child_process";
import { lstat, readFile, readlink, rm, stat, unlink } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import type { Log } from "../log.ts";
import { StartError } from "../start-error.ts";
import { programEnvironment } from "./binaries.ts";

const run = promisify(execFile);

/** A fast shutdown writes a checkpoint; with the log bounded at 512 MB this is enough for a slow disk. */
const fastShutdownMs = 60_000;

/** An immediate shutdown writes nothing; the server itself kills what does not end within 5 s. */
const immediateShutdownMs = 15_000;

/** Short compared with the time of a start. */
const pollMs = 25;

/** The lines of `postmaster.pid` that matter here. */
export interface PostmasterFile {
  readonly pid: number;
  readonly socketFolder: string;
  readonly ready: boolean;
}

/** Makes the cluster free to be started: ends an orphan, removes a stale pid file that would prevent the start. */
export async function clearLeftovers(cluster: string, log: Log): Promise<void> {
  const file = await readPostmasterFile(cluster);
  if (file === null) return;
  const holder = await identify(cluster, file);
  switch (holder) {
    case "ours":
      log.warn("postgres_orphan_found", { pid: file.pid });
      return endPostmaster(cluster, file, log);
    case "copied":
      throw new StartError(
        "postgres_busy",
        `${cluster} is a copy of a cluster that process ${file.pid} is running, taken while it ran. ` +
          "Stop that service and copy its data folder again.",
      );
    case "other":
      // The number was given to another process since. PostgreSQL would take that one for its own and refuse to start.
      // PostgreSQL still notices processes of the dead server that are attached to its shared memory.
      return unlink(path.join(cluster, "postmaster.pid"));
    case "gone":
      // PostgreSQL removes the file itself.
      return;
  }
}

/** Reads `postmaster.pid`; null when there is none or it is not complete yet. */
export async function readPostmasterFile(cluster: string): Promise<PostmasterFile | null> {
  const text = await readFile(path.join(cluster, "postmaster.pid"), "utf8").catch(() => "");
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  if (!Number.isSafeInteger(pid) || pid <= 0) return null;
  return { pid, socketFolder: lines[4]?.trim() ?? "", ready: lines[7]?.trim() === "ready" };
}

type Holder = "ours" | "copied" | "other" | "gone";

async function identify(cluster: string, file: PostmasterFile): Promise<Holder> {
  if (!exists(file.pid)) return "gone";
  const command = await commandLine(file.pid);
  if (file.socketFolder === "" || !command.includes(file.socketFolder)) return "other";
  return (await runsIn(file.pid, cluster, command)) ? "ours" : "copied";
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** Empty for a zombie: a process that has ended and whose parent has not waited for it, as in containers without an init. */
async function commandLine(pid: number): Promise<string> {
  if (process.platform === "linux") {
    return (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).replaceAll("\0", " ");
  }
  const shown = await run("ps", ["-ww", "-o", "command=", "-p", String(pid)], { env: programEnvironment }).catch(
    () => null,
  );
  return shown?.stdout.trim() ?? "";
}

/** By the folder itself where the system shows it, so that a moved or linked path is recognised; else by its path. */
async function runsIn(pid: number, cluster: string, command: string): Promise<boolean> {
  const [theirs, ours] = await Promise.all([stat(`/proc/${pid}/cwd`).catch(() => null), stat(cluster)]);
  return theirs === null ? command.includes(`-D ${cluster} `) : theirs.dev === ours.dev && theirs.ino === ours.ino;
}

async function endPostmaster(cluster: string, file: PostmasterFile, log: Log): Promise<void> {
  const steps = [
    { signal: "SIGINT", patienceMs: fastShutdownMs },
    { signal: "SIGQUIT", patienceMs: immediateShutdownMs },
  ] as const;
  for (const { signal, patienceMs } of steps) {
    sendSignal(file.pid, signal);
    if (await ended(cluster, file, patienceMs)) return log.info("postgres_orphan_ended", { pid: file.pid, signal });
  }
  throw new StartError(
    "postgres_busy",
    `A PostgreSQL server of a service that was killed still runs on ${cluster} as process ${file.pid} and does not end. ` +
      "End that process and start again.",
  );
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function ended(cluster: string, file: PostmasterFile, patienceMs: number): Promise<boolean> {
  for (let waited = 0; waited < patienceMs; waited += pollMs) {
    if ((await identify(cluster, file)) !== "ours") return true;
    await delay(pollMs);
  }
  return false;
}

/** Removes the socket folder that a killed service noted down. Never anything that is not such a folder of ours. */
export async function clearSocketFolder(note: string, name: RegExp): Promise<void> {
  const folder = await readlink(note).catch(() => null);
  if (folder === null) return;
  const found = await lstat(folder).catch(() => null);
  if (name.test(path.basename(folder)) && found?.isDirectory() && found.uid === process.getuid?.()) {
    await rm(folder, { recursive: true, force: true });
  }
  await rm(note, { force: true });
}
