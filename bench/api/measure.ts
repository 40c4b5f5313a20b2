/** What a case costs: time, CPU time by process, and the peak memory of the server. */

import {
  mainThreadCpuMs,
  type Program,
  peakMib,
  postgresCpuMs,
  programCpuMs,
  resetPeak,
} from "../requests/processes.ts";

export interface Cost {
  readonly seconds: number;
  /** CPU seconds of the server with its threads; of its first thread, which is part of it. */
  readonly server: number;
  readonly mainThread: number;
  readonly postgres: number;
  readonly client: number;
  /** Most resident memory of the server. */
  readonly peakMib: number;
}

/** Runs work and measures what it cost. */
export async function costOf<T>(
  program: Program,
  postmaster: number,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly cost: Cost }> {
  resetPeak(program);
  const cpu = () => [programCpuMs(program), mainThreadCpuMs(program), postgresCpuMs(postmaster)] as const;
  const before = cpu();
  const clientBefore = process.cpuUsage();
  const began = performance.now();
  const result = await work();
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(clientBefore);
  const [server, mainThread, postgres] = cpu().map((ms, index) => (ms - (before[index] ?? 0)) / 1000) as [
    number,
    number,
    number,
  ];
  const cost = { seconds, server, mainThread, postgres, client: (user + system) / 1e6, peakMib: peakMib(program) };
  return { result, cost };
}

/** The medians of each figure. */
export function medianCost(costs: readonly Cost[]): Cost {
  const of = (name: keyof Cost) => costs.map((cost) => cost[name]).sort((a, b) => a - b)[costs.length >> 1] ?? 0;
  return {
    ...{ seconds: of("seconds"), server: of("server"), mainThread: of("mainThread"), postgres: of("postgres") },
    // Of the peaks the highest counts.
    ...{ client: of("client"), peakMib: Math.max(...costs.map(({ peakMib: peak }) => peak)) },
  };
}
