/** Waiting with a limit. */

/** True if the work is done within `ms`. It goes on in any case; if it fails within that time, so does the call. */
export async function doneWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(resolve, ms, false);
  return Promise.race([work.then(() => true), late]).finally(() => clearTimeout(timer));
}
