/**
 * Streamed answers. The content is made while it is sent, no faster than the client takes it. An answer that cannot be
 * finished is cut, so that the client sees a broken connection and never takes a part for the whole.
 */

import type { ServerResponse } from "node:http";
import { constants, Http2ServerResponse } from "node:http2";
import type { Clock } from "../clock.ts";
import type { Principal } from "../principal.ts";
import type { RequestSignal } from "./request-signal.ts";

/** The content of an answer. */
export interface ReplyStream {
  /** Bytes; null when it is not known before. The answer is cut when it has more or fewer. */
  readonly length: number | null;
  /** A strong ETag, with its quotes. */
  readonly etag?: string;
  /** Makes the content. Called at most once, and not for HEAD. The signal ends when the client has left. */
  readonly chunks: (signal: AbortSignal) => AsyncIterable<Uint8Array>;
  /** What the operation's spec does not say: whether the caller may still read this, for example its vault. Asked while it is sent. */
  readonly isAllowed?: (principal: Principal) => boolean;
  /** Of an answer that a link gives, whatever its caller's token: whose right it has. */
  readonly holder?: StreamHolder;
}

/** Who answers for a stream in place of its caller. */
export interface StreamHolder {
  /** Its bytes in flight count for this account. */
  readonly accountId: string;
  /** Throws when the right is lost. Asked while the stream is sent. */
  readonly recheck: () => Promise<void>;
}

/** The contract's time after which a long answer asks for the caller's rights again. */
export const recheckMs = 10_000;

/**
 * So much is handed to the transport at once. The transport cuts an answer of which nothing was taken for two minutes, and
 * whole pieces count: a client must take at least 550 bytes a second.
 */
const pieceBytes = 64 * 1024;

/** What a long answer needs while it is sent. */
export interface StreamWatch {
  /** Throws when the caller has lost the right to read since it asked. */
  readonly recheck: () => Promise<void>;
  /** Called when nothing more is sent. */
  readonly finish: () => void;
  /** A clock that tests move: the time of a check is due by it too. */
  readonly clock: Clock;
}

/** Content whose first chunk is there, so that what fails later is not the beginning. */
export interface OpenedStream extends Pick<StreamWatch, "finish"> {
  readonly length: number | null;
  readonly iterator: AsyncIterator<Uint8Array>;
  /** Null when there is no content. */
  readonly first: Uint8Array | null;
}

/** Makes the first chunk. What fails here can still be answered with a problem. */
export async function openStream(stream: ReplyStream, watch: StreamWatch, end: RequestSignal): Promise<OpenedStream> {
  const iterator = stream.chunks(end.signal)[Symbol.asyncIterator]();
  const stopWatching = recheckWhile(watch, end);
  const finish = () => {
    stopWatching();
    watch.finish();
  };
  try {
    return { finish, length: stream.length, iterator, first: await nextChunk(iterator, end) };
  } catch (error) {
    abandon(iterator);
    finish();
    throw error;
  }
}

/**
 * Checks the caller's rights every {@link recheckMs}, and ends the request when they are lost. By a timer, and not between two chunks: a
 * client that takes the content slowly, or not at all, is checked too.
 */
function recheckWhile({ recheck, clock }: StreamWatch, end: RequestSignal): () => void {
  let checkedAtMs = clock.now().getTime();
  const check = () => {
    checkedAtMs = clock.now().getTime();
    recheck().catch((error: unknown) => end.fail(error));
  };
  const timer = setInterval(check, recheckMs).unref();
  const stopListening = clock.onMove?.(() => {
    if (clock.now().getTime() - checkedAtMs >= recheckMs) check();
  });
  return () => {
    clearInterval(timer);
    stopListening?.();
  };
}

/** Sends the content after the head. Throws what stopped it; the answer is cut then. */
export async function sendStream(stream: OpenedStream, response: ServerResponse, end: RequestSignal): Promise<void> {
  const { length, iterator } = stream;
  let sent = 0;
  try {
    for (let chunk = stream.first; chunk !== null; chunk = await nextChunk(iterator, end)) {
      sent += chunk.length;
      if (length !== null && sent > length) throw new Error("a stream is longer than it said");
      await write(response, chunk, end);
    }
    if (length !== null && sent < length) throw new Error("a stream is shorter than it said");
    await ended(response, end);
  } catch (error) {
    cut(response);
    abandon(iterator);
    throw error;
  } finally {
    stream.finish();
  }
}

/** Not waited for: content that is being made when the client leaves may take a while to notice. */
function abandon(iterator: AsyncIterator<Uint8Array>): void {
  iterator.return?.().catch(() => undefined);
}

async function nextChunk(iterator: AsyncIterator<Uint8Array>, end: RequestSignal): Promise<Uint8Array | null> {
  end.restart();
  const { value, done } = await untilAborted(iterator.next(), end);
  return done === true ? null : value;
}

/** Waits until the transport wants more. Meanwhile its own rule counts the time, and not the deadline of the operation. */
async function write(response: ServerResponse, chunk: Uint8Array, end: RequestSignal): Promise<void> {
  for (let at = 0; at < chunk.length; at += pieceBytes) {
    end.throwIfAborted();
    if (response.write(chunk.subarray(at, at + pieceBytes))) continue;
    end.pause();
    const drained = Promise.withResolvers<void>();
    response.once("drain", drained.resolve);
    await untilAborted(drained.promise, end);
    end.restart();
  }
}

async function ended(response: ServerResponse, end: RequestSignal): Promise<void> {
  end.pause();
  const { promise, resolve } = Promise.withResolvers<void>();
  response.end(resolve);
  await untilAborted(promise, end);
}

async function untilAborted<T>(work: Promise<T>, end: RequestSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const stop = end.onAbort(() => reject(end.reason));
  work.then(resolve, reject);
  try {
    return await promise;
  } finally {
    stop();
  }
}

/** The client must not see a normal end. */
function cut(response: ServerResponse | Http2ServerResponse): void {
  if (response instanceof Http2ServerResponse) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else response.destroy();
}
