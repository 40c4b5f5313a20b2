/**
 * Runs a function again and again, one call at a time, until it is stopped. The pause between calls is real time: it says
 * how soon the worker checks, never what is due.
 */

export interface Loop {
  /** Ends the present wait, or the one after the present turn. */
  wake(): void;
  /** No further turn; resolves when the present one is over. */
  stop(): Promise<void>;
}

/** Runs `turn` now and again after as many milliseconds as it returns. A turn handles its own errors. */
export function startLoop(turn: () => Promise<number>): Loop {
  const stopped = new AbortController();
  let woken = Promise.withResolvers<void>();

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      woken = Promise.withResolvers<void>();
      const wait = await turn();
      if (stopped.signal.aborted) return;
      await within(woken.promise, wait);
    }
  }

  const over = run();
  const wake = () => woken.resolve();
  return {
    wake,
    stop: async () => {
      stopped.abort();
      wake();
      await over;
    },
  };
}

/** Waits for a promise at most `ms`; says whether it settled in time. A rejection counts as settled. */
export async function within(promise: PromiseLike<unknown>, ms: number): Promise<boolean> {
  const { promise: timeUp, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, ms, false);
  try {
    return await Promise.race([
      timeUp,
      promise.then(
        () => true,
        () => true,
      ),
    ]);
  } finally {
    clearTimeout(timer);
  }
}
