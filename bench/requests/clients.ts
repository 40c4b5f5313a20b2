/**
 * The clients of the benchmark. They cost as little as they can, because they run on the machine that is measured: over
 * HTTP/1.1 a request is one write of bytes on a TLS connection, and of the answer only status and length are read.
 */

import { once } from "node:events";
import http2 from "node:http2";
import tls, { type TLSSocket } from "node:tls";

export interface ClientRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** One request at a time. Resolves with the status of the answer. */
export interface Client {
  send(request: ClientRequest): Promise<number>;
  close(): void;
}

export type Protocol = "http/1.1" | "h2";

/** So many clients: connections of HTTP/1.1, or streams of one HTTP/2 connection. */
export async function openClients(protocol: Protocol, url: string, ca: string, count: number): Promise<Client[]> {
  if (protocol === "http/1.1") return Promise.all(Array.from({ length: count }, () => openHttp1(url, ca)));
  const session = http2.connect(url, { ca });
  await once(session, "connect");
  const client = { send: (request: ClientRequest) => sendHttp2(session, request), close: () => session.close() };
  return Array.from({ length: count }, () => client);
}

async function openHttp1(url: string, ca: string): Promise<Client> {
  const { hostname: host, port } = new URL(url);
  const socket = tls.connect({ host, port: Number(port), ca, ALPNProtocols: ["http/1.1"] });
  await once(socket, "secureConnect");
  socket.setNoDelay(true);
  return new Http1Client(socket, host);
}

class Http1Client implements Client {
  readonly #socket: TLSSocket;
  readonly #host: string;
  #received = "";
  #pending: PromiseWithResolvers<number> | null = null;

  constructor(socket: TLSSocket, host: string) {
    this.#socket = socket;
    this.#host = host;
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => this.#read(text));
    socket.on("error", (error) => this.#pending?.reject(error));
    socket.on("close", () => this.#pending?.reject(new Error("the server closed the connection")));
  }

  send({ method, path, headers, body }: ClientRequest): Promise<number> {
    // A write on a closed connection is neither an error nor answered.
    if (this.#socket.destroyed) throw new Error("the server closed an idle connection");
    this.#pending = Promise.withResolvers<number>();
    let head = `${method} ${path} HTTP/1.1\r\nHost: ${this.#host}\r\n`;
    for (const [name, value] of Object.entries(headers)) head += `${name}: ${value}\r\n`;
    if (body !== undefined) head += `Content-Length: ${Buffer.byteLength(body)}\r\n`;
    this.#socket.write(`${head}\r\n${body ?? ""}`);
    return this.#pending.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(text: string): void {
    this.#received += text;
    const headEnd = this.#received.indexOf("\r\n\r\n");
    if (headEnd < 0) return;
    const head = this.#received.slice(0, headEnd);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.#received.length < headEnd + 4 + length) return;
    this.#received = "";
    const pending = this.#pending;
    this.#pending = null;
    pending?.resolve(Number(head.slice(9, 12)));
  }
}

function sendHttp2(session: http2.ClientHttp2Session, { method, path, headers, body }: ClientRequest): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const stream = session.request({ ":method": method, ":path": path, ...headers }, { endStream: body === undefined });
  let status = 0;
  stream.on("response", (received) => {
    status = Number(received[":status"]);
  });
  stream.on("error", reject);
  stream.on("end", () => resolve(status));
  stream.resume();
  if (body !== undefined) stream.end(body);
  return promise;
}

export interface LoadResult {
  /** Response times in milliseconds, sorted. */
  readonly times: readonly number[];
  readonly elapsedMs: number;
}

/** Sends `count` requests, each client the next one as soon as its last is answered. */
export async function sendAll(
  clients: readonly Client[],
  count: number,
  expected: number,
  request: () => ClientRequest,
): Promise<LoadResult> {
  const times: number[] = [];
  const began = performance.now();
  let left = count;
  const work = clients.map(async (client) => {
    while (left-- > 0) times.push(await timed(client, expected, request()));
  });
  await Promise.all(work);
  return { times: times.sort((a, b) => a - b), elapsedMs: performance.now() - began };
}

export interface SteadyResult {
  /** Response times in milliseconds, sorted. */
  readonly times: readonly number[];
  /** How much later than due the requests were sent, sorted. */
  readonly lateMs: readonly number[];
  /** When each request came and when its answer was read, in the order of the answers. */
  readonly spans: readonly (readonly [from: number, to: number])[];
}

/**
 * Sends requests at a steady rate, whether or not earlier ones are answered. Node's timers have a resolution of a millisecond, so
 * requests come in groups: those that are due by then. A response time begins when the timer has fired, also if no client was
 * free then.
 */
export function sendSteadily(
  clients: readonly Client[],
  { count, perSecond, expected }: { readonly count: number; readonly perSecond: number; readonly expected: number },
  request: () => ClientRequest,
): Promise<SteadyResult> {
  const { promise, resolve, reject } = Promise.withResolvers<SteadyResult>();
  const times: number[] = [];
  const lateMs: number[] = [];
  const spans: [number, number][] = [];
  const free = [...clients];
  const waiting: number[] = [];
  const began = performance.now();
  const dueMs = (nth: number) => began + (nth * 1000) / perSecond;
  const answered = (client: Client, cameAt: number) => {
    const now = performance.now();
    times.push(now - cameAt);
    spans.push([cameAt, now]);
    const next = waiting.shift();
    if (next === undefined) free.push(client);
    else send(client, next);
    if (times.length < count) return;
    resolve({ times: times.sort((a, b) => a - b), lateMs: lateMs.sort((a, b) => a - b), spans });
  };
  const send = (client: Client, cameAt: number) => {
    timed(client, expected, request()).then(() => answered(client, cameAt), reject);
  };
  const sendDue = () => {
    const now = performance.now();
    while (lateMs.length < count && dueMs(lateMs.length) <= now) {
      lateMs.push(now - dueMs(lateMs.length));
      const client = free.pop();
      if (client === undefined) waiting.push(now);
      else send(client, now);
    }
    if (lateMs.length < count) setTimeout(sendDue, dueMs(lateMs.length) - now);
  };
  sendDue();
  return promise;
}

async function timed(client: Client, expected: number, request: ClientRequest): Promise<number> {
  const began = performance.now();
  const status = await client.send(request);
  if (status !== expected) throw new Error(`${request.method} ${request.path} answered ${status}`);
  return performance.now() - began;
}
