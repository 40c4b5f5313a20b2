/**
 * Why a receiver finds a signature wrong. Compares what it got with what we would have signed, and says the first thing that is
 * different. It never tells a digest, so it cannot be used to sign anything, and it compares in constant time.
 */

import { timingSafeEqual } from "node:crypto";
import { serviceDigest, standardDigest } from "./signatures.ts";

/** The contract's distance between the time of a signature and the clock of its receiver, on both sides. */
export const toleranceSeconds = 300;

export const findings = [
  ...([
    "valid",
    "malformed_header",
    "clock_behind",
    "clock_ahead",
    "wrong_secret",
    "old_secret",
    "changed_body",
  ] as const),
  ...(["wrong_event_id", "does_not_fit"] as const),
] as const;
export type Finding = (typeof findings)[number];

export interface Explained {
  readonly finding: Finding;
  /** By how many seconds the receiver's clock is ahead of the signature; negative when it is behind. Null without a time. */
  readonly clockOffsetSeconds: number | null;
}

export interface Received {
  /** The value of `X-Service-Signature`, or of `webhook-signature`. */
  readonly signature: string;
  /** With `webhook-signature`: the values of these two headers. */
  readonly standard: { readonly id: string; readonly timestamp: string } | null;
  readonly body: Buffer;
  /** What the receiver's clock said, in Unix seconds. */
  readonly receivedAt: number;
  /** The secret that the receiver uses; null when it did not tell. */
  readonly secret: string | null;
}

export interface Known {
  /** That sign now, the newest first. */
  readonly secrets: readonly string[];
  /** What was sent, if the event is known; null: unknown. */
  readonly sent: { readonly eventId: string; readonly body: Buffer } | null;
}

interface Parsed {
  readonly timestamp: number;
  readonly digests: readonly string[];
}

export function explainSignature(received: Received, known: Known): Explained {
  const parsed = parseSignature(received);
  if (parsed === null) return { finding: "malformed_header", clockOffsetSeconds: null };
  const clockOffsetSeconds = received.receivedAt - parsed.timestamp;
  const explain = (finding: Finding) => ({ finding, clockOffsetSeconds });
  const { body, standard, secret } = received;
  const fits = (candidate: string, content: Buffer, eventId = standard?.id ?? "") => {
    const signed = { timestamp: parsed.timestamp, body: content };
    const expected =
      standard === null ? serviceDigest(candidate, signed) : standardDigest(candidate, { ...signed, eventId });
    return parsed.digests.some((digest) => isSame(digest, expected));
  };
  const [newest] = known.secrets;
  if (known.secrets.some((candidate) => fits(candidate, body))) {
    // The delivery is ours and unchanged; what is left is on the receiver's side.
    if (secret !== null && !known.secrets.some((candidate) => isSame(candidate, secret)))
      return explain("wrong_secret");
    if (secret !== null && newest !== undefined && !isSame(secret, newest)) {
      return explain(fits(secret, body) ? timeFinding(clockOffsetSeconds, "valid") : "old_secret");
    }
    return explain(timeFinding(clockOffsetSeconds, "valid"));
  }
  const { sent } = known;
  if (sent !== null && known.secrets.some((candidate) => fits(candidate, sent.body, sent.eventId))) {
    return explain(sent.body.equals(body) ? "wrong_event_id" : "changed_body");
  }
  return explain("does_not_fit");
}

function timeFinding(offset: number, otherwise: Finding): Finding {
  if (offset > toleranceSeconds) return "clock_ahead";
  return offset < -toleranceSeconds ? "clock_behind" : otherwise;
}

function parseSignature({ signature, standard }: Received): Parsed | null {
  if (standard !== null) {
    const digests = signature.split(" ").flatMap((part) => (part.startsWith("v1,") ? [part.slice(3)] : []));
    return /^\d{1,12}$/.test(standard.timestamp) && digests.length > 0
      ? { timestamp: Number(standard.timestamp), digests }
      : null;
  }
  const pairs = signature.split(",").map((part) => part.trim().split("="));
  const time = pairs.find(([name]) => name === "t")?.[1] ?? "";
  const digests = pairs.flatMap(([name, value = ""]) => (name === "v1" && /^[0-9a-f]{64}$/.test(value) ? [value] : []));
  return /^\d{1,12}$/.test(time) && digests.length > 0 ? { timestamp: Number(time), digests } : null;
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
