/**
 * A proxy before an S3 server that refuses requests and loses answers, for tests of services in other processes. A request is
 * refused before the server sees it, cut while it is sent, answered and the answer lost, or answered in part.
 */

import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";

const faults = ["refused", "cut_request", "lost_answer", "cut_answer"] as const;
type Fault = (typeof faults)[number];

export interface FaultyGateway {
  readonly port: number;
  /** One of so many requests fails; 0 for none. */
  oneOf: number;
  /** How often each fault has happened. */
  readonly counts: Readonly<Record<Fault, number>>;
  close(): Promise<void>;
}

const slowDown =
  '<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>';

/** Starts a proxy to a local port. Numbers from 0 to below 1 choose which requests fail, and how. */
export async function startFaultyGateway(targetPort: number, random: () => number): Promise<FaultyGateway> {
  const counts = { refused: 0, cut_request: 0, lost_answer: 0, cut_answer: 0 };
  const agent = new http.Agent({ keepAlive: true });
  const next = (): Fault | null => {
    if (gateway.oneOf === 0 || random() * gateway.oneOf >= 1) return null;
    const fault = faults[Math.floor(random() * faults.length)] ?? "refused";
    counts[fault] += 1;
    return fault;
  };
  const server = http.createServer((request, response) => {
    const fault = next();
    if (fault === "refused") {
      request.resume();
      response.writeHead(503, { "content-type": "application/xml" }).end(slowDown);
    } else pass(request, response, fault);
  });
  // Its clients end their connections before it does.
  server.keepAliveTimeout = 60_000;
  const pass = (request: http.IncomingMessage, response: http.ServerResponse, fault: Fault | null) => {
    // The answer 100 has come from here.
    const { expect: _expect, ...headers } = request.headers;
    const options = { port: targetPort, host: "127.0.0.1", method: request.method, path: request.url, headers, agent };
    const outgoing = http.request(options);
    const cut = () => {
      request.socket.destroy();
      outgoing.destroy();
    };
    outgoing.on("error", cut);
    response.on("close", () => outgoing.destroy());
    if (fault === "cut_request") request.once("data", cut).once("end", cut);
    outgoing.on("response", (answer) => {
      answer.on("error", cut);
      if (fault === "lost_answer") return void answer.resume().on("end", cut);
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      if (fault === "cut_answer") return void answer.once("data", cut).once("end", cut);
      answer.pipe(response);
    });
    request.pipe(outgoing);
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const gateway: FaultyGateway = {
    port: (server.address() as AddressInfo).port,
    oneOf: 0,
    counts,
    async close() {
      agent.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return gateway;
}
