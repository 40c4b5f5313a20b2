/**
 * How a delivery is signed. Two forms with one secret, `whsec_` and base64:
 *
 * - `X-Service-Signature: t=<seconds>,v1=<hex>`, HMAC-SHA256 over `t.body`; the key is the whole text of the secret. Stripe's libraries
 *   verify it.
 * - the headers of Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature: v1,<base64>`, HMAC-SHA256 over
 *   `id.t.body`; the key is what the base64 stands for.
 *
 * After a rotation both have one signature per secret that is still valid, the newest first.
 */

import { createHmac } from "node:crypto";
import type { Random } from "../kernel/clock.ts";

const prefix = "whsec_";
/** As long as the output of the hash; Standard Webhooks asks for 24 to 64. */
const secretBytes = 32;

export const signatureHeader = "x-service-signature";

export function newSecret(random: Random): string {
  return `${prefix}${random.bytes(secretBytes).toString("base64")}`;
}

export interface SignedContent {
  readonly eventId: string;
  /** Unix seconds of the attempt. */
  readonly timestamp: number;
  readonly body: Uint8Array;
}

/** The headers of a delivery. */
export function signatureHeaders(secrets: readonly string[], content: SignedContent): Record<string, string> {
  const { eventId, timestamp } = content;
  return {
    [signatureHeader]: `t=${timestamp}${secrets.map((secret) => `,v1=${serviceDigest(secret, content)}`).join("")}`,
    "webhook-id": eventId,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": secrets.map((secret) => `v1,${standardDigest(secret, content)}`).join(" "),
  };
}

/** The digest of `X-Service-Signature`. */
export function serviceDigest(secret: string, { timestamp, body }: Omit<SignedContent, "eventId">): string {
  return createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex");
}

/** The digest of Standard Webhooks. */
export function standardDigest(secret: string, { eventId, timestamp, body }: SignedContent): string {
  const key = Buffer.from(secret.slice(prefix.length), "base64");
  return createHmac("sha256", key).update(`${eventId}.${timestamp}.`).update(body).digest("base64");
}
