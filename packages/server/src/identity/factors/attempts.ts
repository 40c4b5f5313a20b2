/**
 * The lockout counts failed attempts with a password or a code. There are three kinds of counters with the same rules:
 * - One per e-mail address, whether or not a person has this address.
 * - One per address and known device (one that the person has signed in from before). So wrong passwords from elsewhere do
 *   not lock customers out of their own devices.
 * - One per session, for step-up and password changes. It cannot be reached with the address alone.
 *
 * An attempt is counted as failed before it is checked, and subtracted when it succeeds. So parallel guesses cannot pass the
 * limit. Only a complete sign-in, or a second factor within a session, is a success; a right password alone stays counted.
 *
 * States: *free* (fewer than ten failures in a row) → *slowed* (each further failure doubles the wait, up to 15 minutes) →
 * free again after a success. A hundred failures in a day lock until the day is over.
 */

import type { Rate } from "../../config.ts";
import type { Secrets } from "../../kernel/secrets.ts";

/** Ten in a row before anything happens: people mistype. */
const freeFailures = 10;

/** The first wait; each further failure doubles it. */
const firstWaitSeconds = 30;

/** The contract's longest single wait. */
const longestWaitSeconds = 15 * 60;

/** The contract's most in a day. */
export const failuresPerDay = 100;

export const dayMs = 24 * 60 * 60 * 1000;

/** The counter of an address, or of an address on a known device. */
export function attemptsId(secrets: Secrets, emailKey: string, deviceHash: Buffer | null): Buffer {
  return secrets.digest("attempts", JSON.stringify([emailKey, deviceHash?.toString("base64url") ?? null]));
}

/** The counter of a session. It hashes one string, so it never equals the counter of an address, which hashes a pair. */
export function sessionAttemptsId(secrets: Secrets, sessionId: string): Buffer {
  return secrets.digest("attempts", JSON.stringify(sessionId));
}

/** Until when the next attempt waits, after this many failures; null while it need not. */
export function lockedUntil(
  failures: { readonly consecutive: number; readonly day_count: number; readonly day_started_at: Date },
  now: Date,
  override: Rate | null,
): Date | null {
  const free = override?.count ?? freeFailures;
  const longest = override?.seconds ?? longestWaitSeconds;
  const perDay = override === null ? failuresPerDay : override.count * 10;
  if (failures.day_count >= perDay) return new Date(failures.day_started_at.getTime() + dayMs);
  if (failures.consecutive < free) return null;
  const doublings = Math.min(failures.consecutive - free, 16);
  return new Date(now.getTime() + Math.min(longest, firstWaitSeconds * 2 ** doublings) * 1000);
}
