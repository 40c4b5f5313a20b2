/**
 * An upload target whose calls reject when a signal is aborted, also if the target never answers. The target may still do
 * what an aborted call asked for, as with a call whose answer is lost. Two calls are not aborted:
 * - `complete`: a snapshot is complete or not. An abort that comes after it began is too late.
 * - `abandon` waits for a `begin` that was aborted, because it must end the upload after it began.
 */

import type { UploadTarget } from "./upload-target.ts";

export function abortableTarget(target: UploadTarget, signal: AbortSignal): UploadTarget {
  const until = <T>(call: Promise<T>) => untilAborted(call, signal);
  let begun: Promise<unknown> = Promise.resolve();
  return {
    begin: (base) => {
      const call = target.begin(base);
      begun = call.catch(() => undefined);
      return until(call);
    },
    reserveOrdinals: (request, count) => until(target.reserveOrdinals(request, count)),
    offer: (queries) => until(target.offer(queries)),
    offerNodes: (ids) => until(target.offerNodes(ids)),
    putPack: (name, body) => until(target.putPack(name, body)),
    register: (unit) => until(target.register(unit)),
    renew: () => until(target.renew()),
    complete: async (draft) => {
      signal.throwIfAborted();
      return target.complete(draft);
    },
    abandon: () => begun.then(() => target.abandon()),
  };
}

/** Resolves like the call, or rejects with the signal's reason. */
async function untilAborted<T>(call: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([call, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
