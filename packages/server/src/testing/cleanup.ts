/** The order of a test's clean-ups. */

import type { Cleanup } from "./database.ts";

/**
 * node:test runs clean-ups in the order of their registration. This runs them in reverse: the last part that started stops
 * first, so that a service does not lose its database before it stops.
 */
export function inReverse(cleanup: Cleanup): Cleanup {
  const undo: (() => Promise<void>)[] = [];
  cleanup.after(async () => {
    for (const step of undo.reverse()) await step();
  });
  return { after: (step) => void undo.push(step) };
}
