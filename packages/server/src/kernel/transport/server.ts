/**
 * The transport: HTTP/2 and HTTP/1.1 over TLS by ALPN, or plain HTTP/1.1 behind a proxy, with limits on everything that
 * a client can make grow. It passes requests to one handler (Fastify).
 *
 * Nouns: a *connection* is a TCP connection; over HTTP/2 it carries a *session* with many *exchanges*, over HTTP/1.1
 * exchanges one after the other. An exchange is a request and its answer.
 *
 * Invariants
 * - No error of a client reaches the process: parser errors are answered or their connection is destroyed.
 * - Every wait has an end (`limits.ts`), except for the application's own work.
 * - A body that the client cut off is an error to the application, never an end.
 * - While draining, open exchanges finish, nothing new is accepted, and after the deadline nothing is open.
 */

import http from "node:http";
import http2 from "node:http2";
import net, { type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Log } from "../log.ts";
import type { Certificates } from "./certificates.ts";
import { defaultTransportLimits, type TransportLimits } from "./limits.ts";
import type { WriteParserProblem } from "./parser-problem.ts";
import { type RequestHandler, RequestListener } from "./request-listener.ts";
import { http1Options, http2Options, secureContext } from "./server-options.ts";
import { Traffic } from "./traffic.ts";

export type { TransportLimits } from "./limits.ts";
export type { ParserProblem, ParserProblemKind, WriteParserProblem } from "./parser-problem.ts";
export type { RequestHandler } from "./request-listener.ts";

export type TransportMode =
  | { readonly kind: "tls"; readonly certificates: Certificates }
  /** Plain HTTP/1.1 for a TLS-terminating proxy in front; no limit per address, since all come from the proxy. */
  | { readonly kind: "plain" };

export interface TransportOptions {
  readonly mode: TransportMode;
  readonly limits?: Partial<TransportLimits>;
  readonly log: Log;
  readonly writeParserProblem: WriteParserProblem;
  /** True for addresses without a limit of their own: the trusted proxies. */
  readonly isExempt?: (address: string) => boolean;
}

/** Levels now, and totals since the start; for metrics. */
export interface TransportCounts {
  readonly connections: number;
  readonly sessions: number;
  readonly requests: number;
  readonly connectionsRefusedTotal: number;
  readonly requestsRefusedTotal: number;
  readonly sessionsCutTotal: number;
}

export interface DrainResult {
  /** Requests that were still open at the deadline and were cut. */
  readonly cut: number;
}

export interface Transport {
  /**
   * For Fastify: `Fastify({ serverFactory: transport.serverFactory })`; to be called once. Requests over HTTP/2 come
   * as Node's compatibility objects, typed as their HTTP/1.1 counterparts.
   * `Expect: 100-continue` needs nothing from the application: 100 leaves when it first reads the body.
   */
  readonly serverFactory: (handler: RequestHandler) => http.Server;
  /** Stop accepting, let requests finish until the deadline, cut the rest. Call before `app.close()`. Idempotent. */
  drain(deadlineMs: number): Promise<DrainResult>;
  counts(): TransportCounts;
}

/** Makes a transport that listens nowhere yet; Fastify, or a test, calls `listen` on its server. */
export function createTransport(options: TransportOptions): Transport {
  const limits = { ...defaultTransportLimits, ...options.limits };
  const isExempt = options.mode.kind === "plain" ? () => true : (options.isExempt ?? (() => false));
  const traffic = new Traffic({ limits, log: options.log, isExempt });
  const listener = new RequestListener({ ...options, traffic, headerCountMax: limits.headerCount });
  let server: http.Server | null = null;
  let drained: Promise<DrainResult> | null = null;
  const drain = async (deadlineMs: number): Promise<DrainResult> => {
    // Only stops listening. What http.Server adds to it would cut answers that are written but not yet sent.
    if (server !== null) net.Server.prototype.close.call(server);
    const cut = await traffic.drain(deadlineMs);
    server?.close();
    return { cut };
  };
  return {
    serverFactory(handler) {
      if (server !== null) throw new Error("a transport has one server");
      server =
        options.mode.kind === "plain" ? plainServer(limits, traffic) : secureServer(options.mode, limits, traffic);
      listener.serve(server, handler);
      keepListening(server, options.log);
      return server;
    },
    drain(deadlineMs) {
      drained ??= drain(deadlineMs);
      return drained;
    },
    counts: () => ({
      connections: traffic.connections.size,
      sessions: traffic.sessionCount,
      requests: traffic.exchanges.size,
      connectionsRefusedTotal: traffic.connections.refused,
      requestsRefusedTotal: listener.refused,
      sessionsCutTotal: traffic.sessionsCut,
    }),
  };
}

/** A connection that cannot be accepted, for example without free file descriptors, must not end the process. */
function keepListening(server: http.Server, log: Log): void {
  server.once("listening", () => {
    server.on("error", (error: NodeJS.ErrnoException) => {
      log.error("accept_failed", { error_system_code: error.code });
    });
  });
}

function plainServer(limits: TransportLimits, traffic: Traffic): http.Server {
  const server: http.Server = http.createServer(http1Options(limits));
  server.on("connection", (socket: Socket) => {
    if (traffic.connections.admit(socket)) traffic.openHttp1(socket);
  });
  return server;
}

function secureServer(
  { certificates }: Extract<TransportMode, { kind: "tls" }>,
  limits: TransportLimits,
  traffic: Traffic,
): http.Server {
  const server = http2.createSecureServer(http2Options(certificates.current(), limits));
  server.on("connection", (socket: Socket) => void traffic.connections.admit(socket));
  // Node emits "session" while it serves "secureConnection"; the socket of the one is that of the other.
  let latest: TLSSocket | null = null;
  server.prependListener("secureConnection", (socket: TLSSocket) => {
    latest = socket;
  });
  server.on("session", (session) => {
    if (latest !== null) traffic.openSession(session, latest);
  });
  server.on("secureConnection", (socket: TLSSocket) => {
    if (socket.alpnProtocol !== "h2") traffic.openHttp1(socket);
  });
  const unsubscribe = certificates.onChange((pair) => server.setSecureContext(secureContext(pair)));
  server.once("close", unsubscribe);
  // It has what Fastify and we use of http.Server, under the same names, and emits the same events.
  return server as unknown as http.Server;
}
