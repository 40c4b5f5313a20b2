/** A proxy between a service and its database that a test can close, for tests without a database. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import path from "node:path";
import type { Cleanup, TestDatabase } from "./database.ts";

export interface DatabaseProxy {
  /** The same database, through the proxy. */
  readonly database: TestDatabase;
  /**
   * `open` forwards everything; `shut` closes every connection and refuses new ones; `silent` closes every connection and
   * accepts new ones but never answers, like a network that loses packets.
   */
  turn(state: "open" | "shut" | "silent"): Promise<void>;
}

export async function startDatabaseProxy(cleanup: Cleanup, database: TestDatabase): Promise<DatabaseProxy> {
  const { target } = database;
  const socketFile = path.join(target.host, `.s.PGSQL.${target.port}`);
  const open = new Set<Socket>();
  let silent = false;
  const server = createServer((client) => {
    const sockets = silent ? [client] : [client, connect(socketFile)];
    for (const [index, socket] of sockets.entries()) {
      open.add(socket);
      const other = sockets[1 - index];
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        open.delete(socket);
        other?.destroy();
      });
      if (other !== undefined) socket.pipe(other);
    }
  });
  const listen = async (port: number) => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  };
  const shut = async () => {
    const closed = server.listening ? once(server, "close") : undefined;
    server.close();
    for (const socket of open) socket.destroy();
    await closed;
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  cleanup.after(shut);
  return {
    database: { ...database, target: { ...target, host: "127.0.0.1", port } },
    async turn(state) {
      await shut();
      silent = state === "silent";
      if (state !== "shut") await listen(port);
    },
  };
}
