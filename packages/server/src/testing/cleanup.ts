/** The order in which a test takes apart what it put together. */

import type { Cleanup } from "./database.ts";

/**
 * Clean-ups of a test run in the order of their registration. Through this one they run in reverse: what was started
 * last is stopped first, so that a service does not lose its database before its own end.
 */
export function inReverse(cleanup: Cleanup): Cleanup {
  const undo: (() => Promise<void>)[] = [];
  cleanup.after(async () => {
    for (const step of undo.reverse()) await step();
  });
  return { after: (step) => void undo.push(step) };
}
