/** What runs on this machine, for tests that must leave nothing running. Linux only. */

import { readdir, readFile, readlink } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

/** Processes that were told to end, on a busy machine. */
const patienceMs = 60_000;
const pollMs = 20;

/** The ids of all processes whose working folder is this one; a PostgreSQL server and its children work in its cluster. */
export async function processesIn(folder: string): Promise<readonly number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const folders = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => null)));
  return pids.filter((_, index) => folders[index] === folder);
}

/** Waits until none is left; throws with those that stay. */
export async function noProcessIn(folder: string): Promise<void> {
  for (let waited = 0; waited < patienceMs; waited += pollMs) {
    if ((await processesIn(folder)).length === 0) return;
    await delay(pollMs);
  }
  throw new Error(`still running in ${folder}: ${await processesIn(folder)}`);
}

/** Waits until a process has ended, collected by its parent or not. */
export async function processEnded(pid: number): Promise<void> {
  for (let waited = 0; waited < patienceMs; waited += pollMs) {
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "State:\tX");
    if (/^State:\s+[ZX]/m.test(status)) return;
    await delay(pollMs);
  }
  throw new Error(`process ${pid} is still running`);
}

/** The user that a process runs as. */
export async function userOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]);
}
