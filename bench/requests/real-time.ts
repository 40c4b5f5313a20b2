/**
 * Real-time priority for the programs of a measurement. Client, server and PostgreSQL share the processors of one machine, and at
 * ordinary priority a woken thread may wait until the time slice of another one ends, which Linux looks at every 4 ms: that is
 * several times what a short request takes. With a fixed priority (SCHED_FIFO) a thread runs until it waits for something.
 */

import { spawnSync } from "node:child_process";

/** Above everything ordinary. Which one of the real-time priorities it is makes no difference: nothing else here has any. */
const priority = "10";

/** Whether this process may (Linux, `chrt`, and the right to do so). */
export function canRunAtRealTime(): boolean {
  return spawnSync("chrt", ["--fifo", priority, "true"]).status === 0;
}

/** Gives all threads of the processes real-time priority. Returns what takes it from them. */
export function runAtRealTime(pids: readonly number[]): () => void {
  for (const pid of pids) setPriority(["--fifo"], priority, pid);
  return () => {
    for (const pid of pids) setPriority(["--other"], "0", pid);
  };
}

function setPriority(policy: readonly string[], value: string, pid: number): void {
  // A process may have ended meanwhile; its threads that are left have what the others have.
  spawnSync("chrt", [...policy, "--all-tasks", "--pid", value, String(pid)]);
}
