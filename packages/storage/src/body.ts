/**
 * Reads an `ObjectBody` once, the same way for every store. It checks the announced size and the limit, reports a failure
 * of the source as `bad_body`, and ends on an abort even while the source stalls.
 */

import { maxObjectBytes, type ObjectBody, ObjectStoreError, type PutOptions } from "@emanet/engine/object-store";

/**
 * Yields the chunks of one attempt, none of them empty. Throws `bad_body` when the source fails or is not of the
 * announced size, `too_large`, or `aborted`. A store must not show the object before this ends.
 */
export async function* readBody(body: ObjectBody, options: PutOptions = {}): AsyncGenerator<Uint8Array, void> {
  const { signal } = options;
  assertBody(body, options);
  const announced = body instanceof Uint8Array ? body.byteLength : options.size;
  let seen = 0;
  for await (const chunk of body instanceof Uint8Array ? [body] : readStream(body, signal)) {
    seen += chunk.byteLength;
    if (announced !== undefined && seen > announced) throw wrongSize(announced, "more");
    if (seen > maxObjectBytes) throw tooLarge();
    if (chunk.byteLength > 0) yield chunk;
  }
  if (announced !== undefined && seen < announced) throw wrongSize(announced, "fewer");
  throwIfAborted(signal);
}

/** Checks the announced size before a byte is read: throws `bad_body` or `too_large`. */
export function assertBody(body: ObjectBody, { size }: PutOptions): void {
  if (size !== undefined && (!Number.isSafeInteger(size) || size < 0)) {
    throw new ObjectStoreError("bad_body", "the announced size is not a non-negative integer");
  }
  const announced = body instanceof Uint8Array ? body.byteLength : size;
  if (announced === undefined) return;
  if (size !== undefined && size !== announced) throw wrongSize(size, announced > size ? "more" : "fewer");
  if (announced > maxObjectBytes) throw tooLarge();
}

/** The whole body in one fresh buffer that no caller holds. Only for objects that fit in memory. */
export async function collectBody(body: ObjectBody, options: PutOptions = {}): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  // The source may reuse a chunk once the next one is requested, so it is copied.
  for await (const chunk of readBody(body, options)) parts.push(new Uint8Array(chunk));
  return Buffer.concat(parts);
}

/** Whether a failed attempt can be repeated with the same bytes. */
export function isReplayable(body: ObjectBody): boolean {
  return body instanceof Uint8Array || typeof body === "function";
}

/** Throws `aborted` when the signal has fired. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortedError(signal);
}

/** The error for a fired signal; its reason is the cause. */
export function abortedError(signal: AbortSignal): ObjectStoreError {
  return new ObjectStoreError("aborted", "the caller ended the call", { cause: signal.reason });
}

async function* readStream(
  body: Exclude<ObjectBody, Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void> {
  throwIfAborted(signal);
  const abort = whenAborted(signal);
  let iterator: AsyncIterator<Uint8Array> | undefined;
  let finished = false;
  try {
    iterator = openStream(body);
    for (;;) {
      const next = await Promise.race([nextChunk(iterator), abort.promise]);
      finished = next.done === true;
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    abort.stop();
    // Not awaited: a generator that stalls in `next` answers `return` only after it, which may be never.
    if (!finished) iterator?.return?.().then(undefined, () => undefined);
  }
}

function openStream(body: Exclude<ObjectBody, Uint8Array>): AsyncIterator<Uint8Array> {
  try {
    return (typeof body === "function" ? body() : body)[Symbol.asyncIterator]();
  } catch (cause) {
    throw new ObjectStoreError("bad_body", "the body cannot be opened", { cause });
  }
}

async function nextChunk(iterator: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
  try {
    return await iterator.next();
  } catch (cause) {
    throw new ObjectStoreError("bad_body", "the body failed while it was read", { cause });
  }
}

function whenAborted(signal: AbortSignal | undefined): { promise: Promise<never>; stop(): void } {
  const { promise, reject } = Promise.withResolvers<never>();
  // It may fire between two chunks, when nothing waits for it; the next race sees it.
  promise.catch(() => undefined);
  const onAbort = () => signal !== undefined && reject(abortedError(signal));
  signal?.addEventListener("abort", onAbort, { once: true });
  return { promise, stop: () => signal?.removeEventListener("abort", onAbort) };
}

function wrongSize(announced: number, than: "more" | "fewer"): ObjectStoreError {
  return new ObjectStoreError("bad_body", `${announced} bytes were announced, the body has ${than}`);
}

function tooLarge(): ObjectStoreError {
  return new ObjectStoreError("too_large", `an object may have ${maxObjectBytes} bytes`);
}
