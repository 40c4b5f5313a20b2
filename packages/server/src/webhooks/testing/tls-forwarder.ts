/** HTTPS in front of a plain HTTP server on loopback, as a proxy with TLS is in front of a receiver. */

import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import path from "node:path";
import { createServer } from "node:tls";
import { systemClock, systemRandom } from "../../kernel/clock.ts";
import { openLocalAuthority } from "../../kernel/transport/certificates.ts";
import { type Cleanup, silentLog } from "../../testing/database.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";

export interface Forwarder {
  readonly url: string;
  readonly caFile: string;
  /** Where connections go from now on. */
  target: number;
}

export async function startForwarder(cleanup: Cleanup): Promise<Forwarder> {
  const folder = await temporaryFolder(cleanup);
  const authority = await openLocalAuthority({
    ...{ folder, names: [], clock: systemClock, random: systemRandom, log: silentLog },
  });
  authority.stop();
  const [key, cert] = await Promise.all(["server.key", "server.pem"].map((name) => readFile(path.join(folder, name))));
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer({ key: key ?? "", cert: cert ?? "" }, (socket) => {
    const inner = connect(forwarder.target, "127.0.0.1");
    sockets.add(socket).add(inner);
    socket.pipe(inner).pipe(socket);
    for (const one of [socket, inner]) {
      one.on("error", () => undefined);
      one.on("close", () => {
        socket.destroy();
        inner.destroy();
      });
    }
  });
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanup.after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const forwarder: Forwarder = { url: `https://127.0.0.1:${port}`, caFile: path.join(folder, "ca.pem"), target: 0 };
  return forwarder;
}
