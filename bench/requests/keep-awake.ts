/**
 * Keeps the processors from falling asleep. The host of a virtual machine takes a sleeping processor away and gives it back
 * milliseconds later: measured on one, a timer of 1 ms fired up to 50 ms late on an idle machine, and never more than 1 ms late
 * while something ran on each processor. Every answer waits for such a wake-up, so without this the host is measured.
 *
 * There are two ways, as each disturbs something:
 * - *loops* in the scheduling class for idle time take nothing from programs that have work all the time, or real-time priority. At ordinary
 *   priority a woken thread waits for the processor of a loop until the next tick of the kernel (4 ms; seen on Linux 6.18).
 * - *naps* of some 100 µs, one after the other: shorter than what a host (KVM) waits before it takes a sleeping processor away. Nobody
 *   waits for them, but they cost up to a quarter of a processor.
 */

import { spawn, spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";

export type Wakefulness = "loops" | "naps";

/** With the 50 µs by which Linux may delay an ordinary timer, half of what KVM waits. */
const napMs = 0.05;

const napping = `const cell = new Int32Array(new SharedArrayBuffer(4)); for (;;) Atomics.wait(cell, 0, 0, ${napMs});`;

/** Command lines before that of Node, for the processor with this number. */
const launchers: Readonly<Record<Wakefulness, (cpu: number) => readonly string[]>> = {
  loops: () => ["chrt", "--idle", "0"],
  naps: (cpu) => ["taskset", "--cpu-list", String(cpu)],
};

/** Does something while the processors stay awake, or says that they may sleep. */
export async function whileAwake<Result>(how: Wakefulness, work: () => Promise<Result>): Promise<Result> {
  const letSleep = keepAwake(how);
  if (letSleep === null) console.log("the processors may sleep between requests: `chrt` or `taskset` is missing");
  try {
    return await work();
  } finally {
    letSleep?.();
  }
}

/** Returns what ends it, or null where it cannot be done (it needs Linux, `chrt` and `taskset`). */
function keepAwake(how: Wakefulness): (() => void) | null {
  const [program = "", ...rest] = launchers[how](0);
  if (spawnSync(program, [...rest, "true"]).status !== 0) return null;
  const script = how === "loops" ? "for (;;);" : napping;
  const keepers = Array.from({ length: availableParallelism() }, (_, cpu) => {
    const [launcher = "", ...options] = launchers[how](cpu);
    return spawn(launcher, [...options, process.execPath, "-e", script], { stdio: "ignore" });
  });
  return () => {
    for (const keeper of keepers) keeper.kill("SIGKILL");
  };
}
