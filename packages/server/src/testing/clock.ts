/** A clock that moves only when a test says so. */

import { type Clock, systemClock } from "../kernel/clock.ts";

export interface TestClock extends Clock {
  advance(ms: number): void;
}

export function testClock(start = "2026-11-15T09:00:00.000Z"): TestClock {
  let now = Date.parse(start);
  const listeners = new Set<() => void>();
  return {
    now: () => new Date(now),
    offsetMs: () => now - systemClock.now().getTime(),
    advance: (ms) => {
      now += ms;
      for (const listener of listeners) listener();
    },
    onMove: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
