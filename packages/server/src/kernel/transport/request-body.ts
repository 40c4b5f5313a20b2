/**
 * Requests that know how their body is doing, for both versions of HTTP. Node lets a server name the classes of its
 * requests; these two add one thing, a {@link BodyProgress}.
 *
 * The *application waits* from the moment it asks for bytes until some arrive. Only such time counts against the
 * client: an application that is busy with what it already has costs the client nothing.
 */

import { IncomingMessage } from "node:http";
import { Http2ServerRequest } from "node:http2";
import type { Socket } from "node:net";
import { monotonicMs } from "../clock.ts";

export interface BodyRule {
  /** So many bytes must arrive … */
  readonly windowBytes: number;
  /** … in so much time of waiting. */
  readonly windowMs: number;
  readonly onTooSlow: () => void;
}

/**
 * Waiting time and bytes of one body. States: *unwatched* until {@link watch}; then *waiting* or *fed* in turn, as
 * the application asks and bytes arrive; *ended* with the last byte or {@link stop}, for good.
 */
export class BodyProgress {
  #rule: BodyRule | null = null;
  #ended = false;
  /** Start of the current wait; null while fed. */
  #waitingSince: number | null = null;
  /** Waits that ended, since the last full window. */
  #waitedMs = 0;
  #bytes = 0;
  #timer: NodeJS.Timeout | null = null;
  /** Called once, before the application's first request for bytes is served. */
  onFirstAsk: (() => void) | null = null;

  watch(rule: BodyRule): void {
    this.#rule = rule;
  }

  /** The application asks for bytes. */
  asked(): void {
    const onFirstAsk = this.onFirstAsk;
    this.onFirstAsk = null;
    onFirstAsk?.();
    if (this.#ended || this.#waitingSince !== null) return;
    this.#waitingSince = monotonicMs();
    this.#arm();
  }

  /** Bytes arrived, or with null the end of the body. */
  arrived(byteCount: number | null): void {
    if (this.#waitingSince !== null) this.#waitedMs += monotonicMs() - this.#waitingSince;
    this.#waitingSince = null;
    this.#bytes += byteCount ?? 0;
    if (byteCount === null) this.stop();
    else if (this.#rule !== null && this.#bytes >= this.#rule.windowBytes) {
      this.#bytes = 0;
      this.#waitedMs = 0;
    }
  }

  stop(): void {
    this.#ended = true;
    this.#waitingSince = null;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** One timer per window, not per chunk: it looks at the sums when it fires, and sleeps for what is left. */
  #arm(): void {
    if (this.#rule === null || this.#timer !== null) return;
    const leftMs = Math.max(1, this.#rule.windowMs - this.#waited());
    this.#timer = setTimeout(() => this.#look(), leftMs).unref();
  }

  #look(): void {
    this.#timer = null;
    if (this.#rule === null || this.#waitingSince === null) return;
    if (this.#waited() < this.#rule.windowMs) {
      this.#arm();
    } else {
      this.stop();
      this.#rule.onTooSlow();
    }
  }

  #waited(): number {
    return this.#waitedMs + (this.#waitingSince === null ? 0 : monotonicMs() - this.#waitingSince);
  }
}

/**
 * HTTP/1.1. When an application destroys a request whose body is still coming, Node either closes the connection
 * (`request.destroy()`) or stops reading from it (an error inside `for await`); in both cases the client may never see
 * the answer that follows. Here the rest of the body is read and thrown away, and the exchange decides when the
 * connection ends.
 */
export class TrackedHttp1Request extends IncomingMessage {
  readonly bodyProgress = new BodyProgress();
  /** `this.socket` may be taken away. */
  readonly #connection: Socket;

  constructor(socket: Socket) {
    super(socket);
    this.#connection = socket;
  }

  override _read(size: number): void {
    this.bodyProgress.asked();
    super._read(size);
  }

  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    this.bodyProgress.arrived(sizeOf(chunk));
    // "Go on": otherwise the parser would stop reading and never reach the end of the body.
    if (this.destroyed) return true;
    return super.push(chunk, encoding);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.bodyProgress.stop();
    if (this.complete || this.#connection.destroyed) {
      super._destroy(error, callback);
    } else {
      this.#connection.resume();
      callback(this.listenerCount("error") === 0 ? null : error);
    }
  }
}

/**
 * HTTP/2. Node's compatibility layer reports a body that was cut off (a reset, a lost connection) as if it had ended:
 * a truncated upload would pass for a whole one. Here it is an error, as over HTTP/1.1.
 */
export class TrackedHttp2Request extends Http2ServerRequest {
  readonly bodyProgress = new BodyProgress();

  constructor(...[stream, headers, options, rawHeaders]: ConstructorParameters<typeof Http2ServerRequest>) {
    // The compatibility layer itself emits "close", so the stream must not emit it again.
    super(stream, headers, { ...options, emitClose: false }, rawHeaders);
    // Before the compatibility layer hears of it, so that readers get this error and not one of its aftermath.
    const onAborted = () => this.destroy(Object.assign(new Error("aborted"), { code: "ECONNRESET" }));
    stream.prependOnceListener("aborted", onAborted);
  }

  override _read(size: number): void {
    this.bodyProgress.asked();
    super._read(size);
  }

  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    this.bodyProgress.arrived(sizeOf(chunk));
    if (this.destroyed) return true;
    return super.push(chunk, encoding);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.bodyProgress.stop();
    // Without a listener the error would end the process.
    callback(this.listenerCount("error") === 0 ? null : error);
  }
}

/** What a request of this transport knows about its body. */
export function bodyProgressOf(request: IncomingMessage): BodyProgress | undefined {
  const tracked: unknown = request;
  const isTracked = tracked instanceof TrackedHttp1Request || tracked instanceof TrackedHttp2Request;
  return isTracked ? tracked.bodyProgress : undefined;
}

export type TrackedRequest = TrackedHttp1Request | TrackedHttp2Request;

function sizeOf(chunk: unknown): number | null {
  return chunk instanceof Uint8Array ? chunk.byteLength : null;
}
