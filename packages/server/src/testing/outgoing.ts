/**
 * What this process connects to, whichever module wants to: every TCP connection of Node, with or without TLS, begins
 * with `Socket.connect`, be it by `http`, `https`, `http2` or `fetch`. Connections to sockets of files (the database) are
 * not counted.
 */

import { type AddressInfo, createServer, Socket } from "node:net";
import type { TestContext } from "node:test";

/** Records `host:port` of every connection that begins from here on, until the end of the test. */
export function watchOutgoing(t: TestContext): readonly string[] {
  const targets: string[] = [];
  const { connect } = Socket.prototype;
  t.mock.method(Socket.prototype, "connect", function (this: Socket, ...args: unknown[]) {
    const target = targetOf(args);
    if (target !== null) targets.push(target);
    return Reflect.apply(connect, this, args) as Socket;
  });
  return targets;
}

/** Null for a socket of a file. Node's own callers hand the arguments over as one list. */
function targetOf(args: readonly unknown[]): string | null {
  const [first, second]: readonly unknown[] = Array.isArray(args[0]) ? args[0] : args;
  if (typeof first === "object" && first !== null) {
    const { host, port, path } = first as { host?: string; port?: number | string; path?: string | null };
    return path === undefined || path === null ? `${host ?? "localhost"}:${port}` : null;
  }
  return /^\d+$/.test(String(first)) ? `${typeof second === "string" ? second : "localhost"}:${first}` : null;
}

/** A listener that must never be called, with a counter. */
export async function openTrap(t: TestContext): Promise<{ readonly url: string; readonly calls: () => number }> {
  let calls = 0;
  const trap = createServer((socket) => {
    calls += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => trap.listen(0, "127.0.0.1", resolve));
  t.after(() => trap.close());
  const { port } = trap.address() as AddressInfo;
  return { url: `https://127.0.0.1:${port}/keys`, calls: () => calls };
}
