/**
 * Refresh tokens. A *session* is a family of refresh tokens; each use makes the next *generation*.
 *
 * A refresh token is `session ‖ generation ‖ mac`. The mac is a keyed hash of the two: 256 bits that only the service can
 * make, and can make again. So two tabs that refresh at once get the same successor, and no secret is stored: of the
 * current token the database keeps a hash.
 *
 * States of a generation: *current* → (compare-and-swap) *previous*: for 30 seconds it gets its successor again → *old*: a
 * client that shows it has a copy, so the whole family ends.
 */

import { createHash, timingSafeEqual } from "node:crypto";
import type { NewCookie } from "../../kernel/http/cookies.ts";
import type { Secrets } from "../../kernel/secrets.ts";

const minuteMs = 60_000;

const dayMs = 24 * 60 * minuteMs;

/** The contract's lifetimes: unused for this long, and altogether. */
export const lifetimes = {
  member: { idleMs: 7 * dayMs, absoluteMs: 30 * dayMs },
  staff: { idleMs: 60 * minuteMs, absoluteMs: 12 * 60 * minuteMs },
  /** An office machine may be off for a season. */
  agent: { idleMs: 90 * dayMs, absoluteMs: null },
  /** What a machine may read with was approved for an hour, however often it is used. */
  reading: { idleMs: 60 * minuteMs, absoluteMs: 60 * minuteMs },
  /** Client credentials have no refresh token: the session ends with its one access token. */
  machine: { idleMs: 15 * minuteMs, absoluteMs: 15 * minuteMs },
} as const;

/** Two tabs, or an answer that was lost: the contract's 30 seconds. */
export const repeatWindowMs = 30_000;

/** The session that a refresh token belongs to, whatever its generation; for logging out. */
export function sessionOfToken(secrets: Secrets, token: string): string | null {
  return readToken(secrets, token)?.sessionId ?? null;
}

/** The first token of a session. */
export function firstRefreshToken(secrets: Secrets, sessionId: string): string {
  return refreshToken(secrets, sessionId, 0);
}

/** The cookie of a refresh token; it lives as long as the session may be unused. */
export function refreshCookie(token: string, session: { readonly account_id: string | null }): NewCookie {
  const { idleMs } = session.account_id === null ? lifetimes.staff : lifetimes.member;
  return { name: "__Host-refresh", value: token, maxAgeSeconds: idleMs / 1000 };
}

export const noRefreshCookie: NewCookie = { name: "__Host-refresh", value: "", maxAgeSeconds: 0 };

/** A UUID. */
const idBytes = 16;
/** A 32-bit number: the generation. */
const counterBytes = 4;
/** HMAC-SHA-256. */
const macBytes = 32;

export function refreshToken(secrets: Secrets, sessionId: string, generation: number): string {
  const head = Buffer.alloc(idBytes + counterBytes);
  head.write(sessionId.replaceAll("-", ""), 0, "hex");
  head.writeUInt32BE(generation, idBytes);
  return Buffer.concat([head, secrets.digest("refresh-token", head)]).toString("base64url");
}

export function readToken(secrets: Secrets, token: string): { sessionId: string; generation: number } | null {
  const bytes = Buffer.from(token, "base64url");
  if (bytes.length !== idBytes + counterBytes + macBytes || bytes.toString("base64url") !== token) return null;
  const head = bytes.subarray(0, idBytes + counterBytes);
  if (!timingSafeEqual(bytes.subarray(head.length), secrets.digest("refresh-token", head))) return null;
  const hex = head.toString("hex", 0, idBytes);
  const sessionId = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  return { sessionId, generation: head.readUInt32BE(idBytes) };
}

export function tokenHash(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
