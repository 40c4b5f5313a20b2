/** Waits for what another part of the service does. */

import { setTimeout as delay } from "node:timers/promises";

/** Short beside what a test waits for. Without a pause the questions take the CPU time of the work that is waited for. */
const pauseMs = 5;

/** Asks again until the answer is not null. */
export async function until<T>(ask: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const found = await ask();
    if (found !== null) return found;
    await delay(pauseMs);
  }
}
