/**
 * A proxy that ends TLS and gives each request to the next process, as a load balancer without memory does. A process that takes no
 * connection is passed over. A request whose process dies is cut off, because nobody knows how far it came.
 */

import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { systemClock, systemRandom } from "../../../packages/server/src/kernel/clock.ts";
import { openLocalAuthority } from "../../../packages/server/src/kernel/transport/certificates.ts";
import { silentLog } from "../../../packages/server/src/testing/database.ts";

export interface RoundRobin {
  readonly url: string;
  readonly caFile: string;
  /** Requests that each process has got. */
  readonly counts: readonly number[];
  close(): Promise<void>;
}

/** Not an address of this machine, so that it counts as the client's. */
const clientAddress = "198.51.100.7";

/** Headers that end with each connection. */
const ofConnection = new Set(["connection", "keep-alive", "transfer-encoding"]);

/** Starts the proxy for processes at these ports of this machine; its certificate is made in the folder. */
export async function startRoundRobin(folder: string, ports: readonly number[]): Promise<RoundRobin> {
  const authority = await openLocalAuthority({
    ...{ folder, names: [], clock: systemClock, random: systemRandom, log: silentLog },
  });
  authority.stop();
  const counts = ports.map(() => 0);
  let turn = 0;

  const pass = (request: http.IncomingMessage, response: http.ServerResponse, left: number) => {
    const at = turn++ % ports.length;
    const headers = { ...request.headers, "x-forwarded-for": clientAddress };
    const options = { host: "127.0.0.1", port: ports[at], method: request.method, path: request.url, headers };
    const outgoing = http.request({ ...options, agent: false });
    let isConnected = false;
    outgoing.once("socket", (socket) =>
      socket.once("connect", () => {
        isConnected = true;
        counts[at] = (counts[at] ?? 0) + 1;
        request.pipe(outgoing);
      }),
    );
    outgoing.on("error", () => {
      if (!isConnected && left > 1) pass(request, response, left - 1);
      else request.socket.destroy();
    });
    outgoing.on("continue", () => response.writeContinue());
    outgoing.on("response", (answer) => {
      const kept = Object.entries(answer.headers).filter(([name]) => !ofConnection.has(name));
      response.writeHead(answer.statusCode ?? 502, Object.fromEntries(kept));
      answer.on("error", () => request.socket.destroy());
      answer.pipe(response);
    });
    response.on("close", () => outgoing.destroy());
  };

  const handle = (request: http.IncomingMessage, response: http.ServerResponse) =>
    pass(request, response, ports.length);
  const server = https.createServer(authority.current(), handle).on("checkContinue", handle);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caFile: path.join(folder, "ca.pem"),
    counts,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
