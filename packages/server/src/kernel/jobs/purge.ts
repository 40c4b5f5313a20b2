/** Deletes old failed jobs. They are kept for the operator for a limited time, because payloads can hold personal data. */

import type { Pool } from "pg";
import { type JobContext, noPayload, recurring, retryAfter, task } from "./task.ts";

const hourMs = 60 * 60 * 1000;
/** A week: an operator back from a holiday can still see what a failed job was about. */
const payloadKeptMs = 7 * 24 * hourMs;
/** A quarter: long enough to see a pattern in what fails. By then only names and codes are left. */
const jobKeptMs = 90 * 24 * hourMs;

export function failedJobsPurge(pool: Pool) {
  const run = async (_payload: unknown, { clock }: JobContext<unknown>) => {
    const ago = (ms: number) => new Date(clock.now().getTime() - ms);
    await pool.query("select emanet.purge_failed_jobs($1, $2)", [ago(payloadKeptMs), ago(jobKeptMs)]);
  };
  return recurring(task("jobs.purge_failed", { parse: noPayload, retry: retryAfter(), run }), { everyMs: hourMs });
}
