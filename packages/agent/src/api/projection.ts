/** Search and history of the service follow a completed snapshot within seconds. A person who asks right after a backup waits for them. */

import type { Projection } from "@emanet/client/source";
import type { AgentContext } from "../context.ts";

/** After this the answer is shown as it is. */
const longestMs = 15_000;
const everyMs = 300;

export async function waitForProjection(
  { now, wait, signal }: AgentContext,
  ask: () => Promise<{ readonly projection?: Projection }>,
): Promise<void> {
  const until = now() + longestMs;
  for (;;) {
    const { projection } = await ask();
    if (projection === undefined || projection.waiting === 0 || now() >= until) return;
    await wait(everyMs, signal);
  }
}
