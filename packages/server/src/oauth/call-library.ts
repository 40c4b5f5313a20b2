/**
 * Calls the library as a function: it takes a request and returns the whole answer. The library is a Koa application and
 * expects Node's request and response; it gets a pair without a socket. So its answers go through the same last stages as
 * all others (limits, ids, checks, HTTP/2), slow clients do not affect it, and an answer is sent only when it is complete.
 *
 * This file selects what the library sees of a request: its path without the prefix, the public origin instead of the
 * `Host` header, credentials, cookies and the form. It sees no forwarded, origin or proof header.
 */

import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { Writable } from "node:stream";
import type { Provider } from "./oidc-provider.ts";

/** The path prefix of the library and of the issuer. */
export const mountPath = "/oauth2";

export interface LibraryRequest {
  readonly method: string;
  /** Path without the prefix, and query. */
  readonly target: string;
  readonly publicUrl: string;
  readonly authorization?: string | undefined;
  readonly cookie?: string | undefined;
  readonly form?: string | undefined;
  readonly accept: "application/json" | "text/html";
}

export interface LibraryAnswer {
  readonly status: number;
  /** Lower-case names, only those of the protocol. */
  readonly headers: Readonly<Record<string, string>>;
  readonly cookies: readonly string[];
  readonly body: string;
}

export async function callLibrary(provider: Provider, request: LibraryRequest): Promise<LibraryAnswer> {
  const incoming = incomingOf(request);
  const captured = new CapturedResponse(incoming);
  await provider.callback()(incoming, captured);
  return captured.answer();
}

function incomingOf({ method, target, publicUrl, authorization, cookie, form, accept }: LibraryRequest) {
  const incoming: IncomingMessage & { originalUrl?: string } = new IncomingMessage(new Socket());
  incoming.method = method;
  incoming.url = target;
  // The library reads its path prefix from these two.
  incoming.originalUrl = `${mountPath}${target}`;
  const body = form === undefined ? null : Buffer.from(form);
  incoming.headers = {
    host: new URL(publicUrl).host,
    // TLS can end at a proxy; cookies are always for TLS only.
    "x-forwarded-proto": "https",
    accept,
    ...(authorization !== undefined && { authorization }),
    ...(cookie !== undefined && { cookie }),
    ...(body && { "content-type": "application/x-www-form-urlencoded", "content-length": String(body.length) }),
  };
  if (body) incoming.push(body);
  incoming.push(null);
  return incoming;
}

/** A response that records what is written to it. */
class CapturedResponse extends ServerResponse {
  readonly #chunks: Buffer[] = [];

  constructor(request: IncomingMessage) {
    super(request);
    this.assignSocket(new Writable({ write: (_chunk, _encoding, done) => done() }) as Socket);
  }

  override write(chunk: string | Uint8Array): boolean {
    this.#chunks.push(Buffer.from(chunk as Uint8Array));
    return true;
  }

  override end(chunk?: unknown): this {
    if (typeof chunk === "string" || chunk instanceof Uint8Array) this.write(chunk);
    return super.end();
  }

  answer(): LibraryAnswer {
    const headers: Record<string, string> = {};
    for (const name of handedOn) {
      const value = this.getHeader(name);
      if (value !== undefined) headers[name] = String(value);
    }
    const cookies = [this.getHeader("set-cookie") ?? []].flat().map((cookie) => hostCookie(String(cookie)));
    return { status: this.statusCode, headers, cookies, body: Buffer.concat(this.#chunks).toString() };
  }
}

/** Headers of the protocol. The last stages add all others (framing, security, CORS). */
const handedOn = ["location", "www-authenticate", "content-type", "cache-control", "pragma"] as const;

/** The library binds some cookies to a path; a `__Host-` cookie must have the root. */
function hostCookie(cookie: string): string {
  return cookie.replace(/;\s*path=[^;]*/i, "; path=/");
}
