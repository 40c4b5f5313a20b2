/**
 * Keeps the processors from falling asleep. The host of a virtual machine takes a sleeping processor away and gives it back
 * milliseconds later: measured on one, a timer of 1 ms fired up to 50 ms late on an idle machine, and never more than 1 ms late
 * while something ran on each processor. Every answer waits for such a wake-up, so without this the host is measured.
 *
 * The loops have the scheduling class for idle time: any other program that has work runs in their place, at once or at the next
 * tick of the kernel (4 ms; seen on Linux 6.18), which is why half load is measured at real-time priority too.
 */

import { spawn, spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";

/** Returns what ends it, or null where there is no such class (it needs Linux and `chrt`). */
export function keepAwake(): (() => Promise<void>) | null {
  const atIdle = ["--idle", "0"];
  if (spawnSync("chrt", [...atIdle, "true"]).status !== 0) return null;
  const loops = Array.from({ length: availableParallelism() }, () =>
    spawn("chrt", [...atIdle, process.execPath, "-e", "for (;;);"], { stdio: "ignore" }),
  );
  return async () => {
    for (const loop of loops) loop.kill("SIGKILL");
  };
}
