/** Many requests over a few kept-alive connections: a TLS handshake per request would take most of the time. */

import http2 from "node:http2";
import type { Cleanup } from "./database.ts";
import { connectionOptions } from "./https.ts";

export interface KeptAlive {
  /** Sends all requests, one at a time per connection. Returns the statuses in the order of the requests. */
  all(requests: readonly KeptAliveRequest[]): Promise<readonly number[]>;
}

export interface KeptAliveRequest {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export function openKeptAlive(
  cleanup: Cleanup,
  { url, ca }: { readonly url: string; readonly ca: string },
  connections: number,
): KeptAlive {
  const connect = () => http2.connect(url, connectionOptions(ca)).on("error", () => undefined);
  const sessions = Array.from({ length: connections }, connect);
  cleanup.after(async () => {
    for (const session of sessions) session.destroy();
  });
  return {
    async all(requests) {
      const statuses: number[] = [];
      let next = 0;
      const work = sessions.map(async (known, index) => {
        // The service ends connections that were idle for long.
        const session = known.closed || known.destroyed ? connect() : known;
        sessions[index] = session;
        for (let at = next++; at < requests.length; at = next++) {
          const request = requests[at];
          if (request !== undefined) statuses[at] = await statusOf(session, request);
        }
      });
      await Promise.all(work);
      return statuses;
    },
  };
}

function statusOf(session: http2.ClientHttp2Session, request: KeptAliveRequest): Promise<number> {
  const { path, method = "GET", headers = {}, body } = request;
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":path": path, ":method": method, ...headers }, { endStream: body === undefined });
    let status = 0;
    stream.on("response", (received) => {
      status = Number(received[":status"] ?? 0);
    });
    stream.on("error", reject);
    stream.on("close", () => resolve(status));
    stream.resume();
    if (body !== undefined) stream.end(body);
  });
}
