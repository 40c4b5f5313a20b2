/**
 * An exchange: one request and its answer, from the end of the header to the last byte, in either version of HTTP.
 *
 * It ends when the answer is sent or the client is gone. Until then it checks two things:
 * - the body: while the application waits for it, bytes must arrive, else the answer is 408;
 * - the answer: while bytes of it wait, the client must take some, else the exchange is cut.
 * An answer may come before the whole body has. Over HTTP/2 the stream is then reset with NO_ERROR, which tells the
 * client to stop (RFC 9113, section 8.1); over HTTP/1.1 see `http1-connection.ts`.
 */

import { ServerResponse } from "node:http";
import { constants, type Http2ServerResponse } from "node:http2";
import type { Http1Connection } from "./http1-connection.ts";
import type { TransportLimits } from "./limits.ts";
import { framing, type ParserProblem } from "./parser-problem.ts";
import { TrackedHttp1Request, TrackedHttp2Request } from "./request-body.ts";

/** What both kinds of response have. TypeScript cannot call a union of their overloads. */
interface AnyResponse {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: string): unknown;
}

/** The two shapes of an exchange. */
export type ExchangePair =
  | {
      readonly version: 1;
      readonly request: TrackedHttp1Request;
      readonly response: ServerResponse;
      readonly connection: Http1Connection;
    }
  | { readonly version: 2; readonly request: TrackedHttp2Request; readonly response: Http2ServerResponse };

/** The pair of what Node's servers emit; `connectionOf` finds the connection of an HTTP/1.1 request. */
export function pairOf(
  request: unknown,
  response: unknown,
  connectionOf: (request: TrackedHttp1Request) => Http1Connection | undefined,
): ExchangePair | null {
  if (request instanceof TrackedHttp2Request) {
    return { version: 2, request, response: response as Http2ServerResponse };
  }
  if (!(request instanceof TrackedHttp1Request) || !(response instanceof ServerResponse)) return null;
  const connection = connectionOf(request);
  return connection === undefined ? null : { version: 1, request, response, connection };
}

/** Whether bytes of a body can follow the head. */
function mayHaveBody({ version, request }: ExchangePair): boolean {
  if (version === 2) return !request.stream.endAfterHeaders;
  // RFC 9112, section 6.3: without either of them a request has no body.
  return request.headers["content-length"] !== undefined || request.headers["transfer-encoding"] !== undefined;
}

export class Exchange {
  readonly pair: ExchangePair;
  readonly #limits: TransportLimits;
  readonly #onEnd: () => void;
  #ended = false;
  /** Bytes of the answer that waited at the last check; null when it was not blocked. */
  #blockedLength: number | null = null;

  constructor(pair: ExchangePair, limits: TransportLimits, onEnd: () => void) {
    this.pair = pair;
    this.#limits = limits;
    this.#onEnd = onEnd;
    if (pair.version === 1) {
      pair.connection.begin(pair.request, pair.response);
      pair.response.on("close", () => this.#end());
    } else {
      pair.request.stream.on("close", () => this.#end());
      if (mayHaveBody(pair)) this.#resetWhenAnswered(pair.request);
    }
  }

  /** Watches the body's progress; `problem` is the answer when there is none. */
  watchBody(problem: () => ParserProblem): void {
    if (!mayHaveBody(this.pair)) return;
    const { request, response } = this.pair;
    request.bodyProgress.watch({
      windowBytes: this.#limits.bodyWindowBytes,
      windowMs: this.#limits.bodyWindowMs,
      onTooSlow: () => (response.headersSent ? this.cut() : this.answer(problem())),
    });
  }

  /** Answers instead of the application; over HTTP/1.1 the connection ends with it. */
  answer(problem: ParserProblem): void {
    this.closeAfter();
    const response: AnyResponse = this.pair.response;
    response.writeHead(problem.status, { ...problem.headers, ...framing(problem) });
    response.end(problem.body);
  }

  /** Sends 100 (Continue) when the application first asks for the body, unless it has answered by then. */
  continueWhenRead(): void {
    const { request, response } = this.pair;
    request.bodyProgress.onFirstAsk = () => {
      if (!response.headersSent) response.writeContinue();
    };
  }

  /** Tells an HTTP/1.1 client that the connection ends with this answer; too late when the answer has begun. */
  closeAfter(): void {
    if (this.pair.version === 1) this.pair.response.shouldKeepAlive = false;
  }

  /** Ends it at once, answered or not. */
  cut(): void {
    const { pair } = this;
    if (pair.version === 1) pair.connection.socket.destroy();
    else pair.request.stream.close(constants.NGHTTP2_CANCEL);
  }

  /**
   * Cuts the exchange when its answer is stalled; to be called every `responseStallMs`. The answer is blocked when its
   * buffer is full or complete. A blocked buffer that did not shrink since the last call is a stall.
   */
  cutIfStalled(): void {
    const { response } = this.pair;
    const isBlocked = response.writableNeedDrain || response.writableEnded;
    const length = isBlocked && response.writableLength > 0 ? response.writableLength : null;
    if (length !== null && this.#blockedLength !== null && length >= this.#blockedLength) return void this.cut();
    if (length !== null && this.#blockedLength === null) {
      response.once("drain", () => {
        this.#blockedLength = null;
      });
    }
    this.#blockedLength = length;
  }

  /** Body bytes that arrived and were not read. */
  get unreadBytes(): number {
    const { pair } = this;
    return pair.request.readableLength + (pair.version === 2 ? pair.request.stream.readableLength : 0);
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.pair.request.bodyProgress.stop();
    if (this.pair.version === 1) this.pair.connection.finish(this.pair.response);
    this.#onEnd();
  }

  #resetWhenAnswered({ stream }: TrackedHttp2Request): void {
    const reset = (): void => {
      const isBodyComing = !stream.closed && stream.headersSent && stream.state.remoteClose !== 1;
      if (isBodyComing) stream.close(constants.NGHTTP2_NO_ERROR);
    };
    // The end of the answer is on its way once its trailers have been asked for and (by Node) sent …
    stream.once("wantTrailers", reset);
    // … and an answer without a body ends with its header.
    stream.once("finish", () => {
      setImmediate(() => !stream.destroyed && stream.state.localClose === 1 && reset());
    });
  }
}
