/** Why a process answers late: how long garbage collection stopped it, and how late its event loop was. */

import { monitorEventLoopDelay, PerformanceObserver } from "node:perf_hooks";

/** A time in which a process did nothing else, in milliseconds of its own clock. */
export interface Pause {
  readonly from: number;
  readonly ms: number;
}

export interface Stalls {
  /** Of garbage collection. */
  readonly pauses: readonly Pause[];
  /** How late the event loop was, at one of a hundred looks and at most. */
  readonly loopP99Ms: number;
  readonly loopMostMs: number;
}

/** Node's shortest. */
const resolutionMs = 1;
const nanosecondsPerMs = 1_000_000;

/** Begins to watch this process. Watching costs a timer per millisecond, so it is not done in rounds that count. */
export function watchStalls(): () => Stalls {
  const pauses: Pause[] = [];
  const note = (list: { getEntries(): readonly { startTime: number; duration: number }[] }) => {
    for (const { startTime, duration } of list.getEntries()) pauses.push({ from: startTime, ms: duration });
  };
  const observer = new PerformanceObserver(note);
  observer.observe({ entryTypes: ["gc"] });
  const delays = monitorEventLoopDelay({ resolution: resolutionMs });
  delays.enable();
  return () => {
    delays.disable();
    note({ getEntries: () => observer.takeRecords() });
    observer.disconnect();
    const late = (ns: number) => Math.max(0, ns / nanosecondsPerMs - resolutionMs);
    return { pauses, loopP99Ms: late(delays.percentile(99)), loopMostMs: late(delays.max) };
  };
}
