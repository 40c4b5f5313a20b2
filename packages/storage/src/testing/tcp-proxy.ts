/** A TCP proxy on loopback that can change bytes or cut connections, for tests of clients. */

import { once } from "node:events";
import net from "node:net";

export interface LineRules {
  /** Returns what arrives instead, or null to cut the connection. */
  request?: ((bytes: Buffer) => Buffer | null) | undefined;
  response?: ((bytes: Buffer) => Buffer | null) | undefined;
  /** Everything arrives so much later; 0 if absent. */
  delayMs?: number | undefined;
}

export interface Line {
  readonly port: number;
  close(): Promise<void>;
}

/** Starts a proxy to a local port; `rules` may be changed while it runs. */
export async function startLine(targetPort: number, rules: LineRules): Promise<Line> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((client) => {
    const target = net.connect(targetPort, "127.0.0.1");
    const cut = () => {
      client.destroy();
      target.destroy();
    };
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on("error", cut).on("close", cut);
    }
    const late = () => rules.delayMs ?? 0;
    pass(client, target, { rule: () => rules.request, late, cut });
    pass(target, client, { rule: () => rules.response, late, cut });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  };
  return { port: (server.address() as net.AddressInfo).port, close };
}

interface Passing {
  readonly rule: () => LineRules["request"];
  readonly late: () => number;
  readonly cut: () => void;
}

function pass(from: net.Socket, to: net.Socket, { rule, late, cut }: Passing): void {
  const forward = (bytes: Buffer) => {
    const passed = (rule() ?? ((same: Buffer) => same))(bytes);
    if (passed === null) cut();
    else if (!to.write(passed)) {
      from.pause();
      to.once("drain", () => from.resume());
    }
  };
  from.on("data", (bytes: Buffer) => {
    if (late() === 0) return forward(bytes);
    from.pause();
    setTimeout(() => {
      from.resume();
      forward(bytes);
    }, late());
  });
}

/** A rule that replaces the first occurrence of some bytes that it sees. */
export function replaceOnce(wanted: string, replacement: string): (bytes: Buffer) => Buffer {
  let done = false;
  return (bytes) => {
    const at = done ? -1 : bytes.indexOf(wanted);
    if (at < 0) return bytes;
    done = true;
    return Buffer.concat([bytes.subarray(0, at), Buffer.from(replacement), bytes.subarray(at + wanted.length)]);
  };
}
