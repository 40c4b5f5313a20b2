// A receiver of webhooks with what Node brings. Put a proxy with TLS in front of it.
//   EMANET_WEBHOOK_SECRET=whsec_… PORT=8080 node receiver.ts
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const secret = process.env.EMANET_WEBHOOK_SECRET ?? "";
/** A delivery that is older or newer is a copy, or a clock is wrong. */
const toleranceSeconds = 300;

function isGenuine(header: string, body: Buffer): boolean {
  const parts = header.split(",").map((part) => part.split("=", 2));
  const time = parts.find(([name]) => name === "t")?.[1] ?? "";
  if (!/^\d+$/.test(time) || Math.abs(Date.now() / 1000 - Number(time)) > toleranceSeconds) return false;
  const expected = createHmac("sha256", secret).update(`${time}.`).update(body).digest();
  // After a rotation there is one v1 for each secret that is still valid.
  return parts.some(([name, value = ""]) => {
    const digest = Buffer.from(name === "v1" ? value : "", "hex");
    return digest.length === expected.length && timingSafeEqual(digest, expected);
  });
}

const seen = new Set<string>(); // In production: a table with a unique key.

createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks); // The bytes as they came, before anything parses them.
  if (!isGenuine(String(request.headers["x-service-signature"] ?? ""), body)) return response.writeHead(400).end();
  const id = String(request.headers["webhook-id"]);
  if (!seen.has(id)) {
    seen.add(id);
    const event = JSON.parse(body.toString());
    process.stdout.write(`${event.event} ${event.event_id}\n`);
  }
  response.writeHead(204).end();
}).listen(Number(process.env.PORT ?? 8080), "127.0.0.1");
