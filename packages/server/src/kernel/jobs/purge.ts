/** Deletes old failed jobs. They are kept for the operator for a limited time, because payloads can hold personal data. */

import type { Pool } from "pg";
import { purgeFailed } from "./store.ts";
import { noPayload, type Recurrence, recurring, retryAfter, task } from "./task.ts";

const hourMs = 60 * 60 * 1000;
/** A week: an operator back from a holiday can still see what a failed job was about. */
const payloadKeptMs = 7 * 24 * hourMs;
/** A quarter: long enough to see a pattern in what fails. By then only names and codes are left. */
const jobKeptMs = 90 * 24 * hourMs;

export function failedJobsPurge(pool: Pool): Recurrence {
  const run: Parameters<typeof task>[1]["run"] = async (_payload, { clock, log }) => {
    const ago = (ms: number) => new Date(clock.now().getTime() - ms);
    const count = await purgeFailed(pool, ago(payloadKeptMs), ago(jobKeptMs));
    if (count > 0) log.info("failed_jobs_purged", { count });
  };
  // A payload is kept at most an hour too long.
  return recurring(task("jobs.purge_failed", { parse: noPayload, retry: retryAfter(), run }), { everyMs: hourMs });
}
