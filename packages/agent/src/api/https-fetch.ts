/**
 * `fetch` over Node's HTTPS client, for the TypeScript client of the API. It differs from the built-in one where it matters to
 * an agent: it trusts one more certificate authority, keeps connections open, sends a body of known length at a limited speed
 * and reads answers in one piece. It follows no redirect.
 *
 * HTTP/1.1: one connection carries one pack at a time, which is faster than HTTP/2 in Node (docs/decisions/0602).
 */

import http from "node:http";
import https from "node:https";
import { rootCertificates } from "node:tls";
import type { Throttle } from "./throttle.ts";

export interface HttpsFetchOptions {
  /** PEM of one more authority. */
  readonly ca: string | null;
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

/** An answer is at most a pack; a longer one is not from the service. */
const maxAnswerBytes = 80 * 1024 * 1024;

export function httpsFetch({ ca, userAgent, throttle = null }: HttpsFetchOptions): HttpsFetch {
  const options = { keepAlive: true, maxSockets: maxConnections, scheduling: "lifo" } as const;
  const secure = new https.Agent({ ...options, ...(ca !== null && { ca: [...rootCertificates, ca] }) });
  const plain = new http.Agent(options);
  let serviceTime: number | null = null;
  const send = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input);
    const headers: Record<string, string> = { "user-agent": userAgent };
    new Headers(init.headers).forEach((value, name) => {
      headers[name] = value;
    });
    const body = bodyOf(init.body);
    if (body !== null) headers["content-length"] = String(body.length);
    const isPlain = url.protocol === "http:";
    const request = (isPlain ? http : https).request(url, {
      method: init.method ?? "GET",
      headers,
      agent: isPlain ? plain : secure,
      ...(init.signal && { signal: init.signal }),
    });
    const answered = answerOf(request);
    // A refusal may come before the body is sent. The answer decides then.
    answered.catch(() => undefined);
    await write(request, body, throttle);
    const { response, bytes } = await answered;
    const date = Date.parse(response.headers.date ?? "");
    if (!Number.isNaN(date)) serviceTime = date;
    const status = response.statusCode ?? 0;
    const hasBody = ![204, 205, 304].includes(status);
    return new Response(hasBody ? bytes : null, { status, headers: headersOf(response) });
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

function bodyOf(body: RequestInit["body"]): Buffer | null {
  if (body === undefined || body === null) return null;
  if (typeof body === "string") return Buffer.from(body);
  if (body instanceof Uint8Array) return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  throw new TypeError("the agent sends texts and bytes only");
}

async function write(request: http.ClientRequest, body: Buffer | null, throttle: Throttle | null): Promise<void> {
  if (body === null || throttle === null || body.length < throttledChunkBytes) {
    request.end(body ?? undefined);
    return;
  }
  let failed = false;
  const stop = () => {
    failed = true;
  };
  request.once("error", stop);
  request.once("response", stop);
  for (let at = 0; at < body.length && !failed; at += throttledChunkBytes) {
    const chunk = body.subarray(at, at + throttledChunkBytes);
    await throttle.take(chunk.length);
    if (!request.destroyed && !request.write(chunk))
      await new Promise<void>((resolve) => {
        request.once("drain", resolve);
        request.once("close", resolve);
      });
  }
  if (!request.destroyed) request.end();
}

interface Answered {
  readonly response: http.IncomingMessage;
  readonly bytes: Buffer<ArrayBuffer>;
}

function answerOf(request: http.ClientRequest): Promise<Answered> {
  return new Promise((resolve, reject) => {
    request.on("error", reject);
    request.on("response", (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on("data", (chunk: Buffer) => {
        length += chunk.length;
        if (length > maxAnswerBytes) request.destroy(new Error("the answer is too long"));
        else chunks.push(chunk);
      });
      response.on("error", reject);
      response.on("end", () => {
        if (response.complete) resolve({ response, bytes: Buffer.concat(chunks) });
        else reject(new Error("the answer is not complete"));
      });
    });
  });
}

function headersOf({ rawHeaders }: http.IncomingMessage): Headers {
  const headers = new Headers();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) headers.append(rawHeaders[i] ?? "", rawHeaders[i + 1] ?? "");
  return headers;
}
