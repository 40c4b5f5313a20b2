/** A TCP proxy on loopback that can change bytes or cut connections, for tests of clients. */

import { once } from "node:events";
import net from "node:net";

export interface LineRules {
  /** Returns what arrives instead, or null to cut the connection. */
  request?: ((bytes: Buffer) => Buffer | null) | undefined;
  response?: ((bytes: Buffer) => Buffer | null) | undefined;
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
    pass(client, target, () => rules.request, cut);
    pass(target, client, () => rules.response, cut);
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

function pass(from: net.Socket, to: net.Socket, rule: () => LineRules["request"], cut: () => void): void {
  from.on("data", (bytes: Buffer) => {
    const passed = (rule() ?? ((same: Buffer) => same))(bytes);
    if (passed === null) cut();
    else if (!to.write(passed)) {
      from.pause();
      to.once("drain", () => from.resume());
    }
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
