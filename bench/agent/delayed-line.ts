/** A line that delivers every byte so many milliseconds later, in both directions. */

import { once } from "node:events";
import net from "node:net";

export interface DelayedLine {
  readonly port: number;
  close(): void;
}

export async function startDelayedLine(port: number, delayMs: number): Promise<DelayedLine> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((client) => {
    const target = net.connect(port, "127.0.0.1");
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true);
      from.on("data", (bytes) => setTimeout(() => to.writable && to.write(bytes), delayMs));
      from.on("end", () => setTimeout(() => to.end(), delayMs));
      from.on("error", () => to.destroy());
      from.on("close", () => sockets.delete(from));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as net.AddressInfo).port,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
