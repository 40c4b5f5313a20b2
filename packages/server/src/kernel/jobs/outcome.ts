/**
 * What happens to a job after an attempt. Pure functions: the store writes the outcome.
 *
 * An *outcome* is one of
 * - `done`: the job's row is deleted;
 * - `again`: it waits for another attempt, or for the next time of a recurring job;
 * - `failed`: it does not run again and is kept for the operator;
 * - `released`: the worker interrupted the attempt; it is repeated under the same number.
 */

import { describeError } from "../error-facts.ts";
import { PermanentJobError, type Recurrence, type RetrySchedule, TransientJobError } from "./task.ts";

export type Outcome =
  | { readonly kind: "done" }
  | { readonly kind: "again"; readonly attempt: number; readonly runAt: Date; readonly error: ErrorLabel | undefined }
  | { readonly kind: "failed"; readonly at: Date; readonly error: ErrorLabel }
  | { readonly kind: "released" };

/** What is stored of an error: its class and a code. Neither can hold personal data. */
export interface ErrorLabel {
  readonly class: string;
  readonly code: string | undefined;
}

/** How an attempt ended, as the worker saw it. */
export type Ending =
  | { readonly kind: "ok" }
  | { readonly kind: "error"; readonly error: unknown }
  | { readonly kind: "cut" };

export interface Attempt {
  readonly number: number;
  readonly retry: RetrySchedule;
  /** Present for the recurring job of a task: it is never done and never finally fails. */
  readonly recurrence: Recurrence<never> | undefined;
  readonly now: Date;
}

export function outcomeOf(ending: Ending, attempt: Attempt): Outcome {
  if (ending.kind === "cut") return { kind: "released" };
  if (ending.kind === "ok") return nextTime(attempt, undefined) ?? { kind: "done" };
  const error = labelOf(ending.error);
  const delay = ending.error instanceof PermanentJobError ? undefined : attempt.retry.delaysMs[attempt.number - 1];
  if (delay === undefined) return nextTime(attempt, error) ?? { kind: "failed", at: attempt.now, error };
  return { kind: "again", attempt: attempt.number + 1, runAt: new Date(attempt.now.getTime() + delay), error };
}

/** Whether the task has given up: a recurring job does so too, until its next time. */
export function isGivenUp(outcome: Outcome): outcome is Outcome & { readonly error: ErrorLabel } {
  return (
    outcome.kind === "failed" || (outcome.kind === "again" && outcome.attempt === 1 && outcome.error !== undefined)
  );
}

function nextTime({ recurrence, now }: Attempt, error: ErrorLabel | undefined): Outcome | undefined {
  return recurrence && { kind: "again", attempt: 1, runAt: recurrence.next(now), error };
}

/** The form of a code: no number of a person and no text fits into it. */
const codePattern = /^[a-z]+(?:_[a-z0-9]{1,20})*$/;

function labelOf(error: unknown): ErrorLabel {
  const facts = describeError(error);
  const own = error instanceof PermanentJobError || error instanceof TransientJobError ? error.code : undefined;
  const code = own !== undefined && own.length <= 64 && codePattern.test(own) ? own : facts.systemCode;
  return { class: facts.name, code };
}
