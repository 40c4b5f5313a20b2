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

import { sql } from "kysely";
import type { Rate } from "../config.ts";
import { Problem } from "../kernel/problems.ts";
import type { Secrets } from "../kernel/secrets.ts";
import type { Tx } from "../kernel/tx.ts";

/** Ten in a row before anything happens: people mistype. */
const freeFailures = 10;

/** The first wait; each further failure doubles it. */
const firstWaitSeconds = 30;

/** The contract's longest single wait. */
const longestWaitSeconds = 15 * 60;

/** The contract's most in a day. */
const failuresPerDay = 100;

const dayMs = 24 * 60 * 60 * 1000;

/** What is counted: an address, or an address on a known device. */
export function attemptsId(secrets: Secrets, emailKey: string, deviceHash: Buffer | null): Buffer {
  return secrets.digest("attempts", JSON.stringify([emailKey, deviceHash?.toString("base64url") ?? null]));
}

/** What is counted within a session. A hash of one string, so never the id of an address (a hash of a pair). */
export function sessionAttemptsId(secrets: Secrets, sessionId: string): Buffer {
  return secrets.digest("attempts", JSON.stringify(sessionId));
}

/** Counts an attempt, or refuses with `too_many_attempts`. `override` is the sandbox's own lockout. */
export async function countAttempt(tx: Tx, id: Buffer, override: Rate | null): Promise<{ lockedNow: boolean }> {
  const dayStart = new Date(tx.now.getTime() - dayMs);
  const { rows } = await sql<{ consecutive: number; day_count: number; day_started_at: Date }>`
    insert into attempts as a (id, consecutive, day_started_at, day_count, updated_at)
      values (${id}, 1, ${tx.now}, 1, ${tx.now})
    on conflict (id) do update set
      consecutive = a.consecutive + 1,
      day_started_at = case when a.day_started_at <= ${dayStart} then ${tx.now} else a.day_started_at end,
      day_count = case when a.day_started_at <= ${dayStart} then 1 else a.day_count + 1 end,
      updated_at = ${tx.now}
      where a.locked_until is null or a.locked_until <= ${tx.now}
    returning consecutive, day_count, day_started_at`.execute(tx.db);
  const [row] = rows;
  if (row === undefined) throw await refusal(tx, id);
  const until = lockedUntil(row, tx.now, override);
  if (until === null) return { lockedNow: false };
  await tx.db.updateTable("attempts").set({ locked_until: until }).where("id", "=", id).execute();
  return { lockedNow: true };
}

/** Counts a failure that locks nobody out; true for the first hundred of a day. */
export async function countFailure(tx: Tx, id: Buffer): Promise<boolean> {
  const dayStart = new Date(tx.now.getTime() - dayMs);
  const { rows } = await sql<{ day_count: number }>`
    insert into attempts as a (id, consecutive, day_started_at, day_count, updated_at)
      values (${id}, 0, ${tx.now}, 1, ${tx.now})
    on conflict (id) do update set
      day_started_at = case when a.day_started_at <= ${dayStart} then ${tx.now} else a.day_started_at end,
      day_count = case when a.day_started_at <= ${dayStart} then 1 else a.day_count + 1 end,
      updated_at = ${tx.now}
    returning day_count`.execute(tx.db);
  return (rows[0]?.day_count ?? 0) <= failuresPerDay;
}

/** Gives the attempt back and ends the row of failures: everything that was asked for was right. */
export async function forgiveAttempt(tx: Tx, id: Buffer): Promise<void> {
  await tx.db
    .updateTable("attempts")
    .set({ consecutive: 0, day_count: sql<number>`greatest(day_count - 1, 0)`, locked_until: null })
    .where("id", "=", id)
    .execute();
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

async function refusal(tx: Tx, id: Buffer): Promise<Problem> {
  const row = await tx.db.selectFrom("attempts").select("locked_until").where("id", "=", id).executeTakeFirst();
  const waitMs = (row?.locked_until?.getTime() ?? tx.now.getTime()) - tx.now.getTime();
  return new Problem("too_many_attempts", {
    headers: { "Retry-After": String(Math.max(1, Math.ceil(waitMs / 1000))) },
  });
}
