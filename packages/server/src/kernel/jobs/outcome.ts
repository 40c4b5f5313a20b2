/** What becomes of a job after an attempt. Pure functions: the store writes the outcome. */

import { describeError } from "../error-facts.ts";
import { JobError, PermanentJobError, type Recurrence, type RetrySchedule } from "./task.ts";

/** How an attempt ended. `cut`: the worker stopped it, and it is repeated under the same number. */
export type Ending = { readonly kind: "ok" | "cut" | "canceled" | "error"; readonly error?: unknown };

export interface Outcome {
  /** `given_up` is final for a job. A recurring job starts again at its next time. */
  readonly name: "done" | "retried" | "given_up" | "released" | "canceled";
  /** Null: the row is deleted. */
  readonly row: JobColumns | null;
}

/** The columns that an outcome changes. */
export interface JobColumns {
  readonly attempt: number;
  /** How many workers died while they ran the job. */
  readonly crashes: number;
  readonly run_at: Date;
  readonly failed_at: Date | null;
  /** Class and code of the last error. Neither can hold personal data. */
  readonly error_class: string | null;
  readonly error_code: string | null;
}

/** `recurrence` is that of a recurring job, which is never done and never finally fails. */
export function outcomeOf(
  ending: Ending,
  { attempt, crashes, run_at, failed_at, error_class, error_code }: JobColumns,
  { retry, recurrence, now }: { retry: RetrySchedule; recurrence: Recurrence<never> | undefined; now: Date },
): Outcome {
  if (ending.kind === "canceled") return { name: "canceled", row: null };
  const row = { attempt, crashes, run_at, failed_at, error_class, error_code };
  if (ending.kind === "cut") return { name: "released", row };
  const label = ending.kind === "error" ? labelOf(ending.error) : { error_class: null, error_code: null };
  const final = ending.kind === "ok" || ending.error instanceof PermanentJobError;
  const delay = final ? undefined : retry.delaysMs[attempt - 1];
  if (delay !== undefined) {
    const runAt = new Date(now.getTime() + delay);
    return { name: "retried", row: { ...row, ...label, attempt: attempt + 1, run_at: runAt } };
  }
  const name = ending.kind === "ok" ? "done" : "given_up";
  if (recurrence) return { name, row: { ...row, ...label, attempt: 1, crashes: 0, run_at: recurrence.next(now) } };
  return { name, row: ending.kind === "ok" ? null : { ...row, ...label, failed_at: now } };
}

/** The form of a code: no number of a person and no text fits into it. */
const codePattern = /^(?=.{1,64}$)[a-z]+(?:_[a-z0-9]{1,20})*$/;

function labelOf(error: unknown): Pick<JobColumns, "error_class" | "error_code"> {
  const { name, systemCode = null } = describeError(error);
  const own = error instanceof JobError && codePattern.test(error.code);
  return { error_class: name, error_code: own ? error.code : systemCode };
}
