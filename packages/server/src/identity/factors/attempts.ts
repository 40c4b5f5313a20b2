/**
 * The lockout: failed attempts to show a password or a code. Counted per e-mail address, whether or not it belongs to
 * somebody, and apart from that for a device that its owner has signed in from before, so that nobody can lock a
 * customer out of the office by typing wrong passwords elsewhere. Within a session (step-up, password change) the
 * session has its own counter, by the same rules: those who know only the address cannot touch it.
 *
 * An attempt is counted as failed before it is looked at and given back when it succeeds; parallel guesses therefore
 * cannot outrun the counter. Success is a whole sign-in, or a second factor shown again within a session: a
 * password alone, right or wrong, stays counted. In words: *free* (fewer than ten in a row) → *slowed* (each further failure locks for twice as long, up to 15 minutes) → free
 * again by a success. A hundred failures in a day lock until the day is over.
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

/** What is counted: an address, or an address on a known device. */
export function attemptsId(secrets: Secrets, emailKey: string, deviceHash: Buffer | null): Buffer {
  return secrets.digest("attempts", JSON.stringify([emailKey, deviceHash?.toString("base64url") ?? null]));
}

/** What is counted within a session. A hash of one string, so never the id of an address (a hash of a pair). */
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
