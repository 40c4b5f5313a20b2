/** A limit of bytes per second over everything that shares it. */

/** After a pause no more than this share of a second is sent at once. */
const burstSeconds = 0.25;

export interface Throttle {
  /** Resolves when so many bytes may be sent. */
  take(bytes: number): Promise<void>;
}

export interface ThrottleClock {
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<void>;
}

export function throttle(bytesPerSecond: number, { now, wait }: ThrottleClock): Throttle {
  /** When everything that was taken so far has been sent at this speed. */
  let freeAt = now();
  return {
    async take(bytes) {
      const start = Math.max(freeAt, now() - burstSeconds * 1000);
      freeAt = start + (bytes / bytesPerSecond) * 1000;
      const ms = freeAt - now();
      if (ms > 0) await wait(ms);
    },
  };
}
