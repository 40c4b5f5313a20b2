/** A plain HTTPS client for tests: one request, the whole answer, over HTTP/1.1 or HTTP/2, trusting one authority. Without TLS for `http:`. */

import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import tls, { type SecureContext } from "node:tls";

export interface TestRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface TestAnswer {
  readonly status: number;
  /** Lower-case names; repeated headers joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Contexts by authority: making one is a fifth of a request on a new connection. */
const contexts = new Map<string, SecureContext>();

/** The key exchange after quantum computers is another tenth, and no test of the application needs it. */
export function connectionOptions(ca: string): { readonly secureContext: SecureContext } {
  const secureContext = contexts.get(ca) ?? tls.createSecureContext({ ca, ecdhCurve: "X25519" });
  contexts.set(ca, secureContext);
  return { secureContext };
}

/** Connections that are used again, for {@link sendHttp1}. */
export function keptConnections(ca: string): https.Agent {
  return new https.Agent({ keepAlive: true, ...connectionOptions(ca) });
}

/** One request over HTTP/1.1, on a new connection, or on one of the agent. */
export function sendHttp1(
  url: string,
  ca: string,
  request: TestRequest = {},
  agent: https.Agent | false = false,
): Promise<TestAnswer> {
  const { method = "GET", headers = {}, body } = request;
  const [origin, path] = splitUrl(url);
  return new Promise((resolve, reject) => {
    const framed = { ...framing(request), ...headers };
    // A body that does not come leaves a connection that cannot be used again.
    const announced = framed["content-length"];
    const isWhole = announced === undefined || Number(announced) === Buffer.byteLength(body ?? "");
    const isPlain = origin.startsWith("http:");
    const options = { method, path, headers: framed, agent: isWhole && agent, ...(!isPlain && connectionOptions(ca)) };
    const outgoing = (isPlain ? http : https).request(origin, options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: flat(response.headers), body: Buffer.concat(chunks) }),
      );
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** One request over HTTP/2, on a new session. */
export async function sendHttp2(url: string, ca: string, request: TestRequest = {}): Promise<TestAnswer> {
  const [origin, path] = splitUrl(url);
  const session = http2.connect(origin, connectionOptions(ca));
  try {
    return await new Promise<TestAnswer>((resolve, reject) => {
      session.on("error", reject);
      const { method = "GET", headers = {}, body } = request;
      // By default Node ends a GET after its headers, also when there is a body.
      const head = { ":method": method, ":path": path, ...headers };
      const stream = session.request(head, { endStream: body === undefined });
      const chunks: Buffer[] = [];
      let answer: http2.IncomingHttpHeaders = {};
      stream.on("response", (received) => {
        answer = received;
      });
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("error", reject);
      stream.on("end", () => {
        const status = Number(answer[":status"] ?? 0);
        // A broken connection ends the stream in the same way as a complete answer.
        if (status === 0) reject(new Error("the connection ended without an answer"));
        else resolve({ status, headers: flat(answer), body: Buffer.concat(chunks) });
      });
      if (body !== undefined) stream.end(body);
    });
  } finally {
    session.close();
  }
}

/** By default Node sends the body of a GET without a length. */
function framing({ headers = {}, body }: TestRequest): Record<string, string> {
  const given = body === undefined || "transfer-encoding" in headers;
  return given ? {} : { "content-length": String(Buffer.byteLength(body)) };
}

/** The path is sent unchanged; a URL object would normalise it. */
function splitUrl(url: string): [string, string] {
  const { origin } = new URL(url);
  return [origin, url.slice(origin.length) || "/"];
}

function flat(headers: Readonly<Record<string, string | string[] | number | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => !name.startsWith(":"))
      .map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : String(value)]),
  );
}
