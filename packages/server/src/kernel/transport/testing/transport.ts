/** What the transport's tests share: a running server, raw connections to it, waiting for a condition. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Server } from "node:http";
import http2 from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestContext } from "node:test";
import tls from "node:tls";
import { systemClock, systemRandom } from "../../clock.ts";
import type { Log } from "../../log.ts";
import { type Certificates, openLocalAuthority } from "../certificates.ts";
import { createTransport, type RequestHandler, type Transport, type TransportLimits } from "../server.ts";

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => silentLog };

/** Whether a command is on PATH. */
export function commandExists(name: string): boolean {
  return spawnSync(name, ["version"]).error === undefined;
}

/** Resolves as soon as the condition holds; rejects when it does not within the deadline. */
export async function eventually(condition: () => boolean, what: string, deadlineMs = 10_000): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export interface TestServer {
  readonly transport: Transport;
  readonly certificates: Certificates;
  readonly server: Server;
  readonly port: number;
  readonly origin: string;
  readonly ca: string;
}

export interface TestServerOptions {
  readonly limits?: Partial<TransportLimits>;
  readonly plain?: boolean;
  readonly isExempt?: (address: string) => boolean;
  readonly handler?: RequestHandler;
  readonly certificates?: Certificates;
}

/** A transport on a free port of 127.0.0.1, gone with the test. Without a handler it answers every request "ok". */
export async function startTransport(context: TestContext, options: TestServerOptions = {}): Promise<TestServer> {
  const certificates = options.certificates ?? (await sharedCertificates());
  const transport = createTransport({
    mode: options.plain === true ? { kind: "plain" } : { kind: "tls", certificates },
    log: silentLog,
    writeParserProblem: testProblem,
    ...(options.limits && { limits: options.limits }),
    ...(options.isExempt && { isExempt: options.isExempt }),
  });
  const server = transport.serverFactory(options.handler ?? ((_, response) => void response.end("ok")));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  context.after(async () => {
    await transport.drain(0);
    // A test that failed has left its connections open; they must not keep the process.
    for (const socket of rawSockets) if (socket.remotePort === port) socket.destroy();
  });
  const origin = `${options.plain === true ? "http" : "https"}://127.0.0.1:${port}`;
  const ca = certificates.caFile === null ? "" : await readFile(certificates.caFile, "utf8");
  return { transport, certificates, server, port, origin, ca };
}

const statuses = { malformed_request: 400, headers_too_large: 431, request_timeout: 408, expectation_failed: 417 };

/** Like the application's: a problem with the code in it. */
export function testProblem(kind: keyof typeof statuses) {
  const status = statuses[kind];
  return {
    status,
    headers: { "content-type": "application/problem+json" },
    body: JSON.stringify({ status, code: kind }),
  };
}

let shared: Promise<Certificates> | null = null;

function sharedCertificates(): Promise<Certificates> {
  shared ??= (() => {
    const folder = mkdtempSync(path.join(tmpdir(), "emanet-transport-"));
    process.once("exit", () => rmSync(folder, { recursive: true }));
    return openLocalAuthority({ folder, names: [], clock: systemClock, random: systemRandom, log: silentLog });
  })();
  return shared;
}

/** Where to connect, and whom to trust. */
export type Address = Pick<TestServer, "port" | "ca" | "origin">;

/** A connection whose bytes the test writes itself. */
export interface RawConnection {
  readonly socket: Socket;
  /** Everything received so far, as Latin-1. */
  received(): string;
  /** Bytes received so far. */
  bytes(): Buffer;
  /** Resolves with everything received when the connection is closed, by whichever end. */
  readonly closed: Promise<string>;
  until(pattern: RegExp): Promise<string>;
}

const rawSockets = new Set<Socket>();

/** Connects, over TLS with this ALPN protocol unless the server is plain. */
export async function connectRaw(server: Address, alpn: "h2" | "http/1.1" = "http/1.1"): Promise<RawConnection> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const plain = server.origin.startsWith("http:");
  const socket = plain
    ? net.connect(server.port, "127.0.0.1", resolve)
    : tls.connect({ port: server.port, host: "127.0.0.1", ca: server.ca, ALPNProtocols: [alpn] }, resolve);
  rawSockets.add(socket);
  const chunks: Buffer[] = [];
  socket.once("error", reject);
  // A reset is one of the ways in which a server ends a connection.
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => void chunks.push(chunk));
  const bytes = (): Buffer => Buffer.concat(chunks);
  const received = (): string => bytes().toString("latin1");
  const closed = new Promise<string>((done) => {
    socket.once("close", () => {
      rawSockets.delete(socket);
      done(received());
    });
  });
  await promise;
  const until = async (pattern: RegExp): Promise<string> => {
    await eventually(() => pattern.test(received()) || socket.destroyed, `${pattern} in ${received().slice(0, 500)}`);
    return received();
  };
  return { socket, received, bytes, closed, until };
}

/** Node's client resets its own streams when it has more than this to send. */
const clientMemoryMb = 1000;

/** An HTTP/2 client of the server; its end is the test's. */
export function connectHttp2(context: TestContext, server: TestServer): http2.ClientHttp2Session {
  const session = http2.connect(server.origin, { ca: server.ca, maxSessionMemory: clientMemoryMb });
  session.on("error", () => {});
  context.after(() => session.destroy());
  return session;
}

export interface Http2Answer {
  readonly status: number;
  readonly headers: http2.IncomingHttpHeaders;
  readonly body: string;
  readonly rstCode: number;
}

/** Sends a request over HTTP/2 and reads the whole answer. A body given as null is left open. */
export async function requestHttp2(
  session: http2.ClientHttp2Session,
  headers: http2.OutgoingHttpHeaders,
  body: string | Buffer | null = "",
): Promise<Http2Answer> {
  const stream = session.request(headers, { endStream: body === "" });
  if (body === null) stream.write("begun");
  else if (body !== "") stream.end(body);
  return readHttp2(stream);
}

/** Reads the answer of an open stream to the end of the stream. */
export async function readHttp2(stream: http2.ClientHttp2Stream): Promise<Http2Answer> {
  const chunks: Buffer[] = [];
  let answer: http2.IncomingHttpHeaders = {};
  stream.on("response", (received) => {
    answer = received;
  });
  stream.on("data", (chunk: Buffer) => void chunks.push(chunk));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  stream.once("error", reject);
  stream.once("close", resolve);
  await promise;
  const body = Buffer.concat(chunks).toString();
  return { status: Number(answer[":status"]), headers: answer, body, rstCode: stream.rstCode ?? 0 };
}
