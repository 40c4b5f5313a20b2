/** A line to a service that counts the bytes that clients send. A service that is not there refuses, as without the line. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Cleanup } from "../../../packages/server/src/testing/database.ts";

export interface CountedLine {
  readonly port: number;
  /** Bytes that clients have sent since this was asked last. */
  takeSent(): number;
}

export async function countedLine(cleanup: Cleanup, servicePort: number): Promise<CountedLine> {
  const sockets = new Set<Socket>();
  let sent = 0;
  const server = createServer((client) => {
    const service = connect(servicePort, "127.0.0.1");
    client.on("data", (bytes) => {
      sent += bytes.length;
    });
    for (const [from, to] of [
      [client, service],
      [service, client],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanup.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    takeSent() {
      const before = sent;
      sent = 0;
      return before;
    },
  };
}
