/** Servers of the race: starting them, and counting what they use for a command. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "../engine/measure.ts";
import type { ServerSide } from "../engine/system.ts";
import type { Line, LineCounts } from "./lines.ts";
import { cpuOfTree, peakOfTree, resetPeaks, type TreeCpu } from "./process-tree.ts";

/** A server is idle when it uses less than 4 % of a core, twice in a row: jobs may follow each other with a short pause. */
const windowMs = 500;
const idleSeconds = 0.02;
const idleWindows = 2;

/** What a process and all that it started use, and the bytes on the line to it, which has this round trip while it is measured. */
export function serverSide(pid: number, line: Line, roundTripMs: number): ServerSide {
  let cpu: TreeCpu = { own: 0, all: 0 };
  let bytes: LineCounts = { sentBytes: 0, receivedBytes: 0 };
  return {
    async begin() {
      await line.setRoundTrip(roundTripMs);
      resetPeaks(pid);
      bytes = await line.counts();
      cpu = cpuOfTree(pid);
    },
    async used() {
      const now = cpuOfTree(pid);
      const counts = await line.counts();
      return {
        cpuSeconds: now.all - cpu.all,
        databaseCpuSeconds: now.all - now.own - (cpu.all - cpu.own),
        peakBytes: peakOfTree(pid),
        sentBytes: counts.sentBytes - bytes.sentBytes,
        receivedBytes: counts.receivedBytes - bytes.receivedBytes,
      };
    },
    untilIdle: () => untilIdle(pid),
  };
}

/** Waits until a process and all that it started are idle. Returns the CPU seconds that they used until then. */
export async function untilIdle(pid: number): Promise<number> {
  const begun = cpuOfTree(pid).all;
  let before = begun;
  for (let idle = 0; idle < idleWindows; ) {
    await sleep(windowMs);
    const now = cpuOfTree(pid).all;
    idle = now - before < idleSeconds ? idle + 1 : 0;
    before = now;
  }
  return before - begun;
}

export interface RunningServer {
  readonly pid: number;
  readonly port: number;
  close(): Promise<void>;
}

/** Servers that end with this process. A race starts more of them than a process may have listeners for its end. */
const children = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

/** Starts a server and waits until it says its port, the first group of `ready`. */
export async function startServer({ program, args, env }: Command, ready: RegExp): Promise<RunningServer> {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  children.add(child);
  let printed = "";
  const port = await new Promise<number>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        printed += text;
        const found = ready.exec(printed)?.[1];
        if (found !== undefined) resolve(Number(found));
      });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`${program} ended with ${code}:\n${printed}`)));
  });
  return {
    pid: child.pid ?? 0,
    port,
    close: async () => {
      await ended(child);
      children.delete(child);
    },
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const end = once(child, "exit");
  child.kill("SIGTERM");
  await end;
}
