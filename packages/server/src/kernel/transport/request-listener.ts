/**
 * Takes requests from Node's servers, checks their heads (`request-head.ts`) and passes them to the application. It answers
 * requests with a wrong head, and bytes that are not HTTP, with a problem body where HTTP still allows one.
 */

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Log } from "../log.ts";
import { type Exchange, pairOf } from "./exchange.ts";
import { kindOfParserError, type ParserProblemKind, problemBytes, type WriteParserProblem } from "./parser-problem.ts";
import { headProblem, originForm } from "./request-head.ts";
import type { Traffic } from "./traffic.ts";

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

export interface RequestListenerOptions {
  readonly traffic: Traffic;
  readonly headerCountMax: number;
  readonly log: Log;
  readonly writeParserProblem: WriteParserProblem;
}

export class RequestListener {
  readonly #options: RequestListenerOptions;
  refused = 0;

  constructor(options: RequestListenerOptions) {
    this.#options = options;
  }

  serve(server: Server, handler: RequestHandler): void {
    type Pair = readonly [request: IncomingMessage, response: ServerResponse];
    server.on("request", (...pair: Pair) => this.#receive(pair, handler));
    server.on("checkContinue", (...pair: Pair) => this.#receive(pair, handler, "continue"));
    server.on("checkExpectation", (...pair: Pair) => {
      const isContinue = pair[0].headers.expect?.toLowerCase() === "100-continue";
      this.#receive(pair, handler, isContinue ? "continue" : "unknown");
    });
    server.on("connect", (request: unknown, other: unknown) => this.#refuseConnect(request, other));
    server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => this.#clientFailed(error, socket));
  }

  #receive(
    [request, response]: readonly [IncomingMessage, ServerResponse],
    handler: RequestHandler,
    expectation: "none" | "continue" | "unknown" = "none",
  ): void {
    const exchange = this.#open(request, response);
    if (exchange === null) return;
    const problem = headProblem(request, this.#options.headerCountMax);
    if (problem !== null) return void this.#refuse(exchange, problem);
    if (expectation === "unknown") return void this.#refuse(exchange, "expectation_failed");
    exchange.watchBody(() => this.#problem("request_timeout"));
    if (expectation === "continue") exchange.continueWhenRead();
    request.url = originForm(request.url ?? "");
    handler(request, response);
  }

  #open(request: unknown, response: unknown): Exchange | null {
    const pair = pairOf(request, response, ({ socket }) => this.#options.traffic.http1Connection(socket));
    return pair === null ? null : this.#options.traffic.openExchange(pair);
  }

  #refuse(exchange: Exchange, kind: ParserProblemKind): void {
    exchange.answer(this.#problem(kind));
  }

  #problem(kind: ParserProblemKind): ReturnType<WriteParserProblem> {
    this.refused += 1;
    return this.#options.writeParserProblem(kind);
  }

  /** CONNECT is for proxies. Over HTTP/2 it comes as a request, over HTTP/1.1 as a connection without a parser. */
  #refuseConnect(request: unknown, other: unknown): void {
    const exchange = this.#open(request, other);
    if (exchange !== null) return void this.#refuse(exchange, "malformed_request");
    const socket = other as Socket;
    socket.on("error", () => socket.destroy());
    const connection = this.#options.traffic.http1Connection(socket);
    if (connection === undefined) socket.destroy();
    else connection.linger(problemBytes(this.#problem("malformed_request")));
    socket.resume();
  }

  /** Errors of the HTTP/1.1 parser, of the TLS handshake, and of sockets. */
  #clientFailed(error: NodeJS.ErrnoException, socket: Socket): void {
    const connection = this.#options.traffic.http1Connection(socket);
    const isParser = error.code?.startsWith("HPE_") === true || error.code === "ERR_HTTP_REQUEST_TIMEOUT";
    this.#options.log.debug("client_error", { error_system_code: error.code, ip: socket.remoteAddress });
    if (connection === undefined || !isParser) return void socket.destroy();
    // The parser fails again with each chunk that is thrown away.
    if (connection.isOver) return;
    if (connection.isAnswering || !socket.writable || socket.bytesRead === 0) return void socket.destroy();
    connection.linger(problemBytes(this.#problem(kindOfParserError(error.code))));
  }
}
