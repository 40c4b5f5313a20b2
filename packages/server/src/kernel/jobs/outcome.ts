/** What becomes of a job after an attempt. Pure functions: the store writes the outcome. */

import type { Selectable } from "kysely";
import type { JobsRow } from "../database/rows.generated.ts";
import { describeError } from "../error-facts.ts";
import type { JobOutcome } from "../metrics.ts";
import { JobError, PermanentJobError, type Task } from "./task.ts";

/** How an attempt ended. `stopped`: the worker stopped it, and it is repeated under the same number. */
export type Ending = { readonly kind: "ok" | "stopped" | "canceled" | "error"; readonly error?: unknown };

type JobRow = Selectable<JobsRow>;
/** The columns that an outcome changes. Class and code are those of the last error; neither can hold personal data. */
export type JobColumns = Pick<JobRow, "attempt" | "crashes" | "run_at" | "failed_at" | "error_class" | "error_code">;
export type ClaimedJob = JobColumns & Pick<JobRow, "id" | "task" | "key" | "payload" | "canceled">;

/** The row is null if it is deleted. With `next` the job is recurring: it is never done and never finally fails. */
export function outcomeOf(
  ending: Ending,
  { attempt, crashes, run_at, failed_at, error_class, error_code }: JobColumns,
  { retry, next, now }: Pick<Task<never>, "retry" | "next"> & { readonly now: Date },
): { readonly name: JobOutcome; readonly row: JobColumns | null } {
  if (ending.kind === "canceled") return { name: "canceled", row: null };
  const row = { attempt, crashes, run_at, failed_at, error_class, error_code };
  if (ending.kind === "stopped") return { name: "released", row };
  const label = ending.kind === "error" ? labelOf(ending.error) : { error_class: null, error_code: null };
  const final = ending.kind === "ok" || ending.error instanceof PermanentJobError;
  const delay = final ? undefined : retry[attempt - 1];
  if (delay !== undefined) {
    const runAt = new Date(now.getTime() + delay);
    return { name: "retried", row: { ...row, ...label, attempt: attempt + 1, run_at: runAt } };
  }
  const name = ending.kind === "ok" ? "done" : "given_up";
  if (next) return { name, row: { ...row, ...label, attempt: 1, crashes: 0, run_at: next(now) } };
  return { name, row: ending.kind === "ok" ? null : { ...row, ...label, failed_at: now } };
}

/** The form of a code: no number of a person and no text fits into it. */
const codePattern = /^(?=.{1,64}$)[a-z]+(?:_[a-z0-9]{1,20})*$/;

function labelOf(error: unknown): Pick<JobColumns, "error_class" | "error_code"> {
  const { name, systemCode = null } = describeError(error);
  const own = error instanceof JobError && codePattern.test(error.code);
  return { error_class: name, error_code: own ? error.code : systemCode };
}
