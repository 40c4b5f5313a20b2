/**
 * `fetch` over Node's HTTPS client, for the TypeScript client of the API. It differs from the built-in one where it matters to
 * an agent: it trusts one more certificate authority, keeps connections open, sends a body of known length at a limited speed,
 * with `Expect: 100-continue` not before the service asks for it, and reads answers in one piece. It follows no redirect.
 *
 * HTTP/1.1: one connection carries one pack at a time, which is faster than HTTP/2 in Node (docs/decisions/0602).
 */

import type http from "node:http";
import https from "node:https";
import { createSecureContext, rootCertificates, type TLSSocket } from "node:tls";
import type { Throttle } from "./throttle.ts";

export interface HttpsFetchOptions {
  /** PEM of one more authority. */
  readonly ca: string | null;
  /** The others; those of Node if absent. */
  readonly authorities?: readonly string[] | undefined;
  readonly userAgent: string;
  readonly throttle?: Throttle | null;
}

export interface HttpsFetch {
  readonly fetch: typeof fetch;
  /** The clock of the service, from the `Date` of its last answer; null before the first one. */
  readonly serviceTime: () => number | null;
  close(): void;
}

/** Connections to the service. A backup has a pack, offers and a renewal in flight; more would only compete. */
const maxConnections = 16;

/** Bytes that are written at a time where the speed is limited. */
const throttledChunkBytes = 16 * 1024;

/** Bytes that are written at a time otherwise. A connection encrypts a copy of what it is given, so a pack is not given to it at once. */
const chunkBytes = 256 * 1024;

/** How long a body waits for `100 Continue`. The service answers a request within this time; a proxy may never pass the question on. */
const continueMs = 30_000;

/** An answer is at most a pack; a longer one is not from the service. */
const maxAnswerBytes = 80 * 1024 * 1024;

export function httpsFetch({
  ca,
  authorities = rootCertificates,
  userAgent,
  throttle = null,
}: HttpsFetchOptions): HttpsFetch {
  const options = { keepAlive: true, maxSockets: maxConnections, scheduling: "lifo" } as const;
  // Given as a list, the certificates would be parsed for every connection, and be a part of its name in the pool.
  const trusting = (all: readonly string[]) =>
    new https.Agent({ ...options, secureContext: createSecureContext({ ca: [...all] }) });
  // Who names an authority has a service that it signed. Parsing all others takes as long as a call.
  let secure = ca === null ? new https.Agent(options) : trusting([ca]);
  let isTrusted = ca === null;
  // Imported, `node:http` would load Node's `fetch`, a fifth of what a short command takes: an import reads every export, and one is `WebSocket`.
  const plainHttp = process.getBuiltinModule("node:http");
  const plain = new plainHttp.Agent(options);
  let serviceTime: number | null = null;
  const send = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(typeof input === "string" || input instanceof URL ? input : input.url);
    const headers: Record<string, string> = { "user-agent": userAgent, ...headersToSend(init.headers ?? {}) };
    const body = bodyOf(init.body);
    if (body instanceof Buffer) headers["content-length"] = String(body.length);
    else if (body !== null && headers["content-length"] === undefined)
      throw new TypeError("a stream needs its length: the service asks for it");
    const isPlain = url.protocol === "http:";
    const begin = () => {
      const { method = "GET", signal } = init;
      const agent = isPlain ? plain : secure;
      const request = (isPlain ? plainHttp : https).request(url, { method, headers, agent, ...(signal && { signal }) });
      const answered = answerOf(request);
      // A refusal may come before the body is sent. The answer decides then.
      answered.catch(() => undefined);
      return { request, answered };
    };
    let { request, answered } = begin();
    if (ca !== null && !isPlain && !isTrusted) {
      const error = await Promise.race([handshakeOf(request), answered.then(() => null, codeOf)]);
      if (error === null) isTrusted = true;
      else if (untrusted.has(error)) {
        if (!isTrusted) secure = trusting([...authorities, ca]);
        isTrusted = true;
        ({ request, answered } = begin());
      } else await answered;
    }
    const isAsked = headers.expect === undefined || (await untilAsked(request));
    const isWhole = isAsked && (await write(request, body, throttle));
    const { response, bytes } = await answered;
    // The service still expects the rest of the body on this connection.
    if (!isWhole) request.destroy();
    const date = Date.parse(response.headers.date ?? "");
    if (!Number.isNaN(date)) serviceTime = date;
    const status = response.statusCode ?? 0;
    const hasBody = ![204, 205, 304].includes(status);
    return new Answer(status, response.headers, hasBody ? bytes : null) as Pick<Response, keyof Answer> as Response;
  };
  return {
    fetch: send,
    serviceTime: () => serviceTime,
    close: () => {
      secure.destroy();
      plain.destroy();
    },
  };
}

/** What OpenSSL says of a certificate when no authority that it knows has signed it. */
const untrusted: ReadonlySet<string> = new Set([
  ...["UNABLE_TO_GET_ISSUER_CERT", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
  ...["DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN"],
]);

/** Resolves when the connection of a request is ready, and never if that fails. */
function handshakeOf(request: http.ClientRequest): Promise<null> {
  return new Promise((resolve) => {
    request.once("socket", (socket) => {
      const { secureConnecting = true } = socket as TLSSocket & { readonly secureConnecting?: boolean };
      if (secureConnecting) socket.once("secureConnect", () => resolve(null));
      else resolve(null);
    });
  });
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}

type Body = Buffer | ReadableStream<Uint8Array> | null;

function bodyOf(body: RequestInit["body"]): Body {
  if (body === undefined || body === null) return null;
  if (typeof body === "string") return Buffer.from(body);
  if (body instanceof Uint8Array) return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (body instanceof ReadableStream) return body as ReadableStream<Uint8Array>;
  throw new TypeError("the agent sends texts, bytes and streams of bytes only");
}

/** Waits until the service asks for the body. Returns false if it answered, or the connection broke, before. */
function untilAsked(request: http.ClientRequest): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(true), continueMs);
    const end = (isAsked: boolean) => () => {
      clearTimeout(timer);
      resolve(isAsked);
    };
    request.once("continue", end(true));
    for (const event of ["error", "response", "close"]) request.once(event, end(false));
  });
}

/** Writes the body. Returns false if the answer came, or the connection broke, before its end. */
async function write(request: http.ClientRequest, body: Body, throttle: Throttle | null): Promise<boolean> {
  const size = throttle === null ? chunkBytes : throttledChunkBytes;
  if (body === null || (body instanceof Buffer && body.length <= size)) {
    request.end(body ?? undefined);
    return true;
  }
  const stop = new AbortController();
  for (const event of ["error", "response", "close"]) request.once(event, () => stop.abort());
  const parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array> = body instanceof ReadableStream ? body : [body];
  for await (const bytes of parts)
    for (let at = 0; at < bytes.length; at += size) {
      const chunk = bytes.subarray(at, at + size);
      await throttle?.take(chunk.length);
      if (stop.signal.aborted) return false;
      await written(request, chunk, stop.signal);
    }
  if (stop.signal.aborted) return false;
  request.end();
  return true;
}

/** Resolves when the connection needs the bytes no more, so that the sender can use their memory again; or when writing has ended. */
function written(request: http.ClientRequest, chunk: Uint8Array, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stop.removeEventListener("abort", done);
      resolve();
    };
    stop.addEventListener("abort", done);
    request.write(chunk, done);
  });
}

interface Answered {
  readonly response: http.IncomingMessage;
  readonly bytes: Buffer<ArrayBuffer>;
}

function answerOf(request: http.ClientRequest): Promise<Answered> {
  return new Promise((resolve, reject) => {
    request.on("error", reject);
    request.on("response", (response) => {
      const body = new AnswerBody(Number(response.headers["content-length"] ?? 0));
      response.on("data", (chunk: Buffer) => {
        if (body.length + chunk.length > maxAnswerBytes) request.destroy(new Error("the answer is too long"));
        else body.add(chunk);
      });
      response.on("error", reject);
      response.on("end", () => {
        if (response.complete) resolve({ response, bytes: body.bytes() });
        else reject(new Error("the answer is not complete"));
      });
    });
  });
}

/** The bytes of an answer while they come. Its announced length is allocated once, so that each byte is copied once. */
class AnswerBody {
  #bytes: Buffer<ArrayBuffer>;
  length = 0;

  constructor(announced: number) {
    const isUsable = Number.isSafeInteger(announced) && announced > 0 && announced <= maxAnswerBytes;
    this.#bytes = Buffer.allocUnsafeSlow(isUsable ? announced : 0);
  }

  add(chunk: Uint8Array): void {
    const length = this.length + chunk.length;
    if (length > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(maxAnswerBytes, Math.max(length, 2 * this.#bytes.length)));
      grown.set(this.#bytes.subarray(0, this.length));
      this.#bytes = grown;
    }
    this.#bytes.set(chunk, this.length);
    this.length = length;
  }

  /** In memory of its own: it may be given to another thread. */
  bytes(): Buffer<ArrayBuffer> {
    if (this.length === this.#bytes.length) return this.#bytes;
    const exact = Buffer.allocUnsafeSlow(this.length);
    exact.set(this.#bytes.subarray(0, this.length));
    return exact;
  }
}

function headersToSend(given: NonNullable<RequestInit["headers"]>): Record<string, string> {
  const pairs = Symbol.iterator in given ? [...given] : Object.entries(given);
  return Object.fromEntries(pairs.map(([name = "", value = ""]) => [name.toLowerCase(), value]));
}

/** An answer that was read already: what the client of the API uses of a `Response`, which would copy its bytes several times. */
class Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly #bytes: Buffer<ArrayBuffer> | null;
  #stream: ReadableStream<Uint8Array<ArrayBuffer>> | null = null;

  constructor(status: number, headers: http.IncomingHttpHeaders, bytes: Buffer<ArrayBuffer> | null) {
    this.status = status;
    this.headers = new AnswerHeaders(headers) as Pick<Headers, keyof AnswerHeaders> as Headers;
    this.#bytes = bytes;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    if (this.#bytes !== null) this.#stream ??= ReadableStream.from([this.#bytes]);
    return this.#stream;
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.#bytes?.buffer ?? new ArrayBuffer(0);
  }

  async text(): Promise<string> {
    return this.#bytes?.toString("utf8") ?? "";
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }
}

class AnswerHeaders {
  readonly #values: ReadonlyMap<string, string>;

  constructor(headers: http.IncomingHttpHeaders) {
    this.#values = new Map(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(", ")]));
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase());
  }
}
