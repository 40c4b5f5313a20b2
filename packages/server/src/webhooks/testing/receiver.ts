/** A receiver of webhooks for tests: HTTPS on loopback, with a certificate of an authority of its own. */

import { createHmac, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { IncomingHttpHeaders } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { systemClock, systemRandom } from "../../kernel/clock.ts";
import { openLocalAuthority } from "../../kernel/transport/certificates.ts";
import { type Cleanup, silentLog } from "../../testing/database.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";

export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface WholeAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body?: Buffer;
  /** It never ends. */
  readonly hasNoEnd?: boolean;
  /** Early hints before it. */
  readonly hints?: number;
}

/** A status, with more; `hang` never answers. */
export type ReceiverAnswer = number | "hang" | WholeAnswer;

export interface Receiver {
  readonly url: string;
  readonly caFile: string;
  readonly port: number;
  /** All requests so far. */
  readonly requests: ReceivedRequest[];
  /** How the next requests are answered; 200 at first. */
  answer: (request: ReceivedRequest) => ReceiverAnswer;
  /** Connections so far. */
  readonly connections: () => number;
  /** Resolves when there are so many requests. */
  has(count: number): Promise<void>;
}

/** Settings of a service that sends to receivers of tests. */
export const receiverSettings = ({ caFile }: Pick<Receiver, "caFile">) => ({
  EMANET_WEBHOOK_ALLOW: "127.0.0.1/32",
  EMANET_WEBHOOK_CA_FILE: caFile,
});

/** Names beside localhost and 127.0.0.1 can be given to the certificate. */
export async function startReceiver(cleanup: Cleanup, names: readonly string[] = []): Promise<Receiver> {
  const folder = await temporaryFolder(cleanup);
  const options = { folder, names, clock: systemClock, random: systemRandom, log: silentLog };
  const authority = await openLocalAuthority(options);
  authority.stop();
  const [key, cert] = await Promise.all(["server.key", "server.pem"].map((name) => readFile(path.join(folder, name))));
  const requests: ReceivedRequest[] = [];
  let connections = 0;
  const waiting = new Set<() => void>();
  const server = createServer({ key: key ?? "", cert: cert ?? "" }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => undefined);
    request.on("end", () => {
      const received = { path: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks) };
      requests.push(received);
      for (const look of waiting) look();
      const answer = receiver.answer(received);
      if (answer === "hang") return;
      const whole = typeof answer === "number" ? { status: answer, headers: {} } : answer;
      const { status, headers, body, hasNoEnd = false, hints = 0 }: WholeAnswer = whole;
      for (let hint = 0; hint < hints; hint += 1) response.writeEarlyHints({ link: "</style.css>; rel=preload" });
      response.writeHead(status, headers);
      if (hasNoEnd) response.write(body ?? "more");
      else response.end(body);
    });
  });
  server.on("connection", () => {
    connections += 1;
  });
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanup.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `https://127.0.0.1:${port}`,
    caFile: path.join(folder, "ca.pem"),
    ...{ port, requests },
    answer: () => 200,
    connections: () => connections,
    async has(count) {
      while (requests.length < count) {
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.add(resolve);
        await promise;
        waiting.delete(resolve);
      }
    },
  };
  return receiver;
}

/** The contract's check of `X-Service-Signature`, as a receiver writes it. */
export function isSignatureValid(secret: string, { headers, body }: ReceivedRequest, nowSeconds: number): boolean {
  const parts = String(headers["x-service-signature"]).split(",");
  const time = parts.find((part) => part.startsWith("t="))?.slice(2) ?? "";
  if (Math.abs(nowSeconds - Number(time)) > 300) return false;
  const expected = createHmac("sha256", secret).update(`${time}.`).update(body).digest();
  return parts.some((part) => {
    const digest = Buffer.from(part.startsWith("v1=") ? part.slice(3) : "", "hex");
    return digest.length === expected.length && timingSafeEqual(digest, expected);
  });
}
