/** What the client takes from the platform: network, clock, randomness, timers. */

import type { Platform } from "./request.ts";

export const defaultPlatform: Platform = {
  fetch: (...call) => fetch(...call),
  now: () => Date.now(),
  random: () => Math.random(),
  newKey: () => crypto.randomUUID(),
  wait: (ms, signal) =>
    new Promise((resolve, reject) => {
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      }, ms);
      if (signal?.aborted === true) onAbort();
      else signal?.addEventListener("abort", onAbort, { once: true });
    }),
};
