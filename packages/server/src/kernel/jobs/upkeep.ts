/**
 * Deletes old failed jobs. They are kept for the operator for a limited time, because payloads can hold personal data.
 */

import type { Pool } from "pg";
import { purgeFailed } from "./store.ts";
import { noPayload, type Recurrence, recurring, retryAfter, task } from "./task.ts";

const dayMs = 24 * 60 * 60 * 1000;
/** A week: an operator back from a holiday can still see what a failed job was about. */
export const failedPayloadKeptMs = 7 * dayMs;
/** A quarter: long enough to see a pattern in what fails. By then only names and codes are left. */
export const failedJobKeptMs = 90 * dayMs;
/** A payload is kept at most an hour too long. */
const purgeEveryMs = 60 * 60 * 1000;

export function failedJobsPurge(pool: Pool): Recurrence {
  const purge = task("jobs.purge_failed", {
    parse: noPayload,
    retry: retryAfter(),
    run: async (_payload, { clock, log }) => {
      const now = clock.now().getTime();
      const purged = await purgeFailed(pool, {
        payloads: new Date(now - failedPayloadKeptMs),
        jobs: new Date(now - failedJobKeptMs),
      });
      if (purged.payloads + purged.jobs > 0) log.info("failed_jobs_purged", { count: purged.payloads + purged.jobs });
    },
  });
  return recurring(purge, { everyMs: purgeEveryMs });
}
