/** Raw TLS connections for HTTP/1.1: a test writes bytes that no client library sends. */

import tls from "node:tls";

/** A service under test: its address and the authority that its certificate comes from. */
export interface RawTarget {
  readonly url: string;
  readonly ca: string;
}

/** Much longer than an answer on a busy machine. */
const patienceMs = 60_000;

export interface RawConnection {
  readonly socket: tls.TLSSocket;
  /** Everything received so far. */
  received(): string;
  /** Waits until what was received matches; throws when the connection ends first. */
  until(pattern: RegExp): Promise<string>;
  /** Everything received until the connection ended, by whichever side and however. */
  readonly closed: Promise<string>;
}

export async function openRaw({ url, ca }: RawTarget): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = tls.connect({ host: hostname, port: Number(port), ca, ALPNProtocols: ["http/1.1"] });
  let text = "";
  const waiting = new Set<() => void>();
  const look = () => {
    for (const wake of waiting) wake();
  };
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("utf8");
    look();
  });
  // A reset is one of the ways in which a server ends a connection.
  socket.on("error", () => undefined);
  const closed = new Promise<string>((resolve) => {
    socket.once("close", () => {
      look();
      resolve(text);
    });
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("secureConnect", resolve);
    socket.once("error", reject);
  });
  const until = (pattern: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const fail = (why: string) => reject(new Error(`${why} before ${pattern}: ${text.slice(0, 500)}`));
      const timer = setTimeout(() => fail("too late"), patienceMs);
      const wake = () => {
        if (!pattern.test(text) && !socket.closed) return;
        clearTimeout(timer);
        waiting.delete(wake);
        if (pattern.test(text)) resolve(text);
        else fail("closed");
      };
      waiting.add(wake);
      wake();
    });
  return { socket, received: () => text, until, closed };
}

export interface RawExchangeOptions {
  /** When the service may be waiting for more: the client leaves after this. */
  readonly endAfterMs?: number;
}

/** Writes these bytes and gives what comes back until the connection ends; `Connection: close` belongs in the bytes. */
export async function exchangeRaw(
  target: RawTarget,
  bytes: string | Uint8Array,
  { endAfterMs }: RawExchangeOptions = {},
): Promise<string> {
  const raw = await openRaw(target);
  raw.socket.write(bytes);
  const timer = endAfterMs === undefined ? undefined : setTimeout(() => raw.socket.destroy(), endAfterMs);
  const text = await raw.closed;
  clearTimeout(timer);
  return text;
}
