/**
 * Sends one attempt over HTTPS. The address that was checked is the one that is connected to (`resolve-host.ts`); redirects are not
 * followed, no proxy of the environment is used, and of the answer only its status and `Retry-After` are kept: at most 1 MiB is read,
 * so that the connection can be used again, and dropped.
 */

import { isIP } from "node:net";
import {
  connect as connectTls,
  createSecureContext,
  rootCertificates,
  type SecureContext,
  type TLSSocket,
} from "node:tls";
import { Agent, type Dispatcher } from "undici";
import { monotonicMs } from "../kernel/clock.ts";
import { HostError, type HostResolver } from "./resolve-host.ts";
import { type ErrorClass, type Outcome, parseRetryAfter } from "./schedule.ts";

/** The contract's time for a whole attempt. */
const attemptMs = 15_000;
/** For names, TCP and TLS together. A receiver that takes longer will not answer in time. */
const connectMs = 10_000;
/** A name can have several addresses; the second one is tried when the first does not answer at all. */
const maxAddresses = 2;
/** What is read of an answer before its connection is closed. */
const maxAnswerBytes = 1024 * 1024;
/** Answers before the answer (RFC 9110, 1xx): early hints are one or two. */
const maxInterim = 10;
/** How long the rest of an answer is read after its status: only so that the connection can be used again. */
const drainMs = 500;
/** An unused connection is closed after this; most receivers close it earlier. */
const keepAliveMs = 30_000;
/** More than the attempts that are sent to one host at a time (`host-slots.ts`). */
const connectionsPerHost = 64;

export interface HttpRequest {
  readonly target: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface HttpSender {
  /** Never rejects. `now` is the application's, for `Retry-After` as a date. */
  send(request: HttpRequest, now: Date): Promise<Outcome>;
  close(): Promise<void>;
}

export interface SenderOptions {
  readonly resolver: HostResolver;
  /** Certificate authorities beside those of Node, in PEM. */
  readonly ca?: string | undefined;
}

export function createSender({ resolver, ca }: SenderOptions): HttpSender {
  const secureContext = authorities(ca);
  const agent = new Agent({
    ...{
      connections: connectionsPerHost,
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
    },
    ...{ headersTimeout: attemptMs, bodyTimeout: attemptMs, maxHeaderSize: 16_384 },
    connect: (options, callback) => {
      const port = Number(options.port || 443);
      openSocket(options.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, ""), port).then(
        (socket) => callback(null, socket),
        (error: Error) => callback(error, null),
      );
    },
  });

  async function openSocket(host: string, port: number): Promise<TLSSocket> {
    const endsAtMs = monotonicMs() + connectMs;
    const addresses = await resolver.resolve(host);
    let failure: unknown;
    for (const address of addresses.slice(0, maxAddresses)) {
      try {
        return await openTls(address, host, port, endsAtMs - monotonicMs());
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  function openTls(address: string, host: string, port: number, ms: number): Promise<TLSSocket> {
    const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
    const socket = connectTls({
      // An address, so nothing is looked up here.
      ...{ host: address, port, secureContext: secureContext(), ALPNProtocols: ["http/1.1"], minVersion: "TLSv1.2" },
      ...(isIP(host) === 0 && { servername: host }),
    });
    const timer = setTimeout(() => socket.destroy(new AttemptTimeout()), Math.max(ms, 1));
    socket.once("secureConnect", () => {
      clearTimeout(timer);
      socket.off("error", reject);
      socket.setNoDelay(true);
      resolve(socket);
    });
    socket.once("error", reject);
    socket.once("close", () => {
      clearTimeout(timer);
      reject(new Error("closed"));
    });
    return promise;
  }

  return {
    async send(request, now) {
      const startedMs = monotonicMs();
      const first = await sendOnce(agent, request, now, startedMs);
      // A connection that was kept can be closed by the receiver at the moment when it is used again.
      return first.isUnanswered && monotonicMs() - startedMs < attemptMs / 2
        ? (await sendOnce(agent, request, now, startedMs)).outcome
        : first.outcome;
    },
    close: () => agent.destroy(),
  };
}

/**
 * The authorities that are trusted. Node's own are read at the first connection: that takes a sixth of a start, and most
 * services send nothing for a while. Those of the operator are read now too, since a wrong file must fail the start.
 */
function authorities(ca: string | undefined): () => SecureContext {
  if (ca !== undefined) createSecureContext({ ca });
  let context: SecureContext | null = null;
  return () => {
    context ??= createSecureContext({ ca: ca === undefined ? [...rootCertificates] : [...rootCertificates, ca] });
    return context;
  };
}

class AttemptTimeout extends Error {}
class TooManyAnswers extends Error {}

interface Sent {
  readonly outcome: Outcome;
  /** The connection ended before any byte of an answer. */
  readonly isUnanswered: boolean;
}

function sendOnce(agent: Agent, request: HttpRequest, now: Date, startedMs: number): Promise<Sent> {
  const { promise, resolve } = Promise.withResolvers<Sent>();
  const { origin, pathname, search } = request.target;
  let controller: Dispatcher.DispatchController | null = null;
  let answered: Outcome | null = null;
  let bytes = 0;
  let interim = 0;
  let isOver = false;
  const end = (sent: Sent) => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    resolve(sent);
  };
  const fail = (error: unknown) =>
    end(
      answered === null
        ? { outcome: failureOf(error, elapsed(startedMs)), isUnanswered: isConnectionLoss(error) }
        : { outcome: answered, isUnanswered: false },
    );
  const cut = () => {
    fail(new AttemptTimeout());
    controller?.abort(new AttemptTimeout());
  };
  let timer = setTimeout(cut, Math.max(1, attemptMs - (monotonicMs() - startedMs)));
  agent.dispatch(
    {
      ...{ origin, path: `${pathname}${search}`, method: "POST" },
      headers: request.headers,
      body: request.body,
    },
    {
      onRequestStart(started) {
        controller = started;
        if (isOver) started.abort(new AttemptTimeout());
      },
      onResponseStart(answering, status, headers) {
        if (status < 200) {
          interim += 1;
          if (interim > maxInterim) answering.abort(new TooManyAnswers());
          return;
        }
        answered = outcomeOf(status, headers["retry-after"], now, elapsed(startedMs));
        clearTimeout(timer);
        timer = setTimeout(cut, drainMs);
      },
      onResponseData(data, chunk) {
        bytes += chunk.length;
        if (bytes > maxAnswerBytes) data.abort(new Error("the answer is too long"));
      },
      onResponseEnd() {
        if (answered !== null) end({ outcome: answered, isUnanswered: false });
      },
      onResponseError(_controller, error) {
        fail(error);
      },
    },
  );
  return promise;
}

function elapsed(startedMs: number): number {
  return Math.round(monotonicMs() - startedMs);
}

function outcomeOf(status: number, retryAfter: string | string[] | undefined, now: Date, durationMs: number): Outcome {
  const value = Array.isArray(retryAfter) ? retryAfter[0] : retryAfter;
  const isRedirect = status >= 300 && status < 400;
  const error = status >= 200 && status < 300 ? null : isRedirect ? "redirect" : "status";
  return { status, error, durationMs, retryAfterMs: error === null ? null : parseRetryAfter(value, now) };
}

function failureOf(error: unknown, durationMs: number): Outcome {
  return { status: null, error: classOf(error), durationMs, retryAfterMs: null };
}

/** Codes of OpenSSL for certificates that are not trusted, expired, or of another host. */
const certificateCodes = /^(CERT_|ERR_TLS|ERR_SSL|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|HOSTNAME_MISMATCH|EPROTO$)/;

function classOf(error: unknown): ErrorClass {
  if (error instanceof HostError) return error.reason;
  if (error instanceof AttemptTimeout) return "timeout";
  if (error instanceof TooManyAnswers) return "protocol";
  const code = codeOf(error);
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return "timeout";
  if (certificateCodes.test(code)) return "tls";
  if (/^(HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RESPONSE)/.test(code)) return "protocol";
  return "connection";
}

function isConnectionLoss(error: unknown): boolean {
  return ["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"].includes(codeOf(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
