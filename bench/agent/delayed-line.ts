/**
 * A line that delivers every byte so many milliseconds later, in both directions, and counts them. A connection costs a round trip
 * before its first byte, as on a real line. The rate is not limited, and there is no slow start.
 */

import { once } from "node:events";
import net from "node:net";

export interface DelayedLine {
  readonly port: number;
  /** Bytes from clients to the server, so far. */
  sentBytes(): number;
  /** Bytes from the server to clients, so far. */
  receivedBytes(): number;
  /** From now on. */
  setDelay(ms: number): void;
  close(): void;
}

/** On the way in one direction: three times what 300 MB/s are in 15 ms. Then a sender waits for a slow reader. */
const mostUnderwayBytes = 16 * 1024 * 1024;

export async function startDelayedLine(port: number, firstDelayMs: number): Promise<DelayedLine> {
  let delayMs = firstDelayMs;
  const sockets = new Set<net.Socket>();
  const counts = { sent: 0, received: 0 };
  const server = net.createServer((client) => {
    const target = net.connect(port, "127.0.0.1");
    const openedAt = performance.now() + 2 * delayMs;
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("close", () => sockets.delete(socket));
    }
    carry(
      client,
      target,
      (now) => Math.max(now, openedAt) + delayMs,
      (length) => (counts.sent += length),
    );
    carry(
      target,
      client,
      (now) => now + delayMs,
      (length) => (counts.received += length),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as net.AddressInfo).port,
    sentBytes: () => counts.sent,
    receivedBytes: () => counts.received,
    setDelay: (ms) => {
      delayMs = ms;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** Passes on what arrives, in its order, at the times that `arrival` says. */
function carry(
  from: net.Socket,
  to: net.Socket,
  arrival: (now: number) => number,
  count: (length: number) => void,
): void {
  /** Null is the end. */
  const underway: { readonly at: number; readonly bytes: Buffer | null }[] = [];
  let underwayBytes = 0;
  let timer: NodeJS.Timeout | null = null;
  const written = (length: number) => {
    underwayBytes -= length;
    if (underwayBytes < mostUnderwayBytes) from.resume();
  };
  const deliver = () => {
    timer = null;
    for (let next = underway[0]; next !== undefined; next = underway[0]) {
      const waitMs = next.at - performance.now();
      if (waitMs > 0) {
        timer = setTimeout(deliver, Math.ceil(waitMs));
        return;
      }
      underway.shift();
      const { bytes } = next;
      if (bytes === null) to.end();
      else if (to.writable) to.write(bytes, () => written(bytes.length));
    }
  };
  const send = (bytes: Buffer | null) => {
    underway.push({ at: arrival(performance.now()), bytes });
    if (timer === null) deliver();
  };
  from.on("data", (bytes: Buffer) => {
    count(bytes.length);
    underwayBytes += bytes.length;
    if (underwayBytes >= mostUnderwayBytes) from.pause();
    send(bytes);
  });
  from.on("end", () => send(null));
  from.on("error", () => to.destroy());
}
