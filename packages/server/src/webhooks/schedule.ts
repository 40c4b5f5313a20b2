/** When an attempt is repeated, and what its outcome means. Pure decisions. */

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The contract's steps, from the end of one attempt to the next. */
const stepsMs = [minuteMs, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 6 * hourMs, 24 * hourMs] as const;

/** The first attempt and its retries. */
export const maxAttempts = stepsMs.length + 1;

/** People are mailed when this attempt of an event has failed. */
export const warnAtAttempt = 3;

/**
 * A retry is up to 5 % of its step late, so that receivers that were away do not get all at one moment. The contract allows
 * 10 %; the rest is for the worker.
 */
const spread = 0.05;

/** The receiver may ask for at most twice the step. */
const maxRetryAfterSteps = 2;

/** How one attempt ended. */
export interface Outcome {
  /** Null without an answer. */
  readonly status: number | null;
  /** Null for a success. */
  readonly error: ErrorClass | null;
  readonly durationMs: number;
  /** What `Retry-After` of the answer asks for. */
  readonly retryAfterMs: number | null;
}

/**
 * `status`: an answer that is not 2xx. `redirect`: an answer that leads elsewhere. `blocked`: the address is not public. `expired`: the
 * event is not kept any more. The others: no answer.
 */
export const errorClasses = [
  ...(["status", "redirect", "timeout", "dns", "connection", "tls", "protocol", "blocked", "expired"] as const),
] as const;
export type ErrorClass = (typeof errorClasses)[number];

export const isSuccess = (outcome: Outcome): boolean => outcome.error === null;

/** The receiver says that the webhook is gone for good. */
export const isGone = ({ status }: Outcome): boolean => status === 410;

/** When attempt number `failed` has failed: the time of the next one, null when there is none. `chance` is from 0 to 1. */
export function nextAttemptAt(failed: number, outcome: Outcome, now: Date, chance: number): Date | null {
  const step = stepsMs[failed - 1];
  if (step === undefined || isGone(outcome) || outcome.error === "expired") return null;
  const asked = Math.min(outcome.retryAfterMs ?? 0, step * maxRetryAfterSteps);
  return new Date(now.getTime() + Math.max(asked, Math.ceil(step * (1 + spread * chance))));
}

/** When a webhook is disabled if attempt number `failed + 1`, which is at this time, and all later ones fail; without the spread. */
export function lastAttemptAt(failed: number, nextAt: Date): Date {
  const rest = stepsMs.slice(failed).reduce((sum, step) => sum + step, 0);
  return new Date(nextAt.getTime() + rest);
}

/** `Retry-After` in seconds or as a date (RFC 9110). */
export function parseRetryAfter(value: string | undefined, now: Date): number | null {
  if (value === undefined) return null;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(0, at - now.getTime());
}

/** The classes of durations: class n is up to 1.1^n milliseconds, the last one has the rest (the time limit is 15 s). */
const durationBase = 1.1;
export const durationClasses = 102;

export function durationClass(ms: number): number {
  return Math.min(durationClasses - 1, Math.max(0, Math.ceil(Math.log(Math.max(ms, 1)) / Math.log(durationBase))));
}

/** The median of counted durations, within 5 %; null when there are none. */
export function medianOf(counts: readonly number[]): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  let seen = 0;
  for (const [at, count] of counts.entries()) {
    seen += count;
    if (total > 0 && seen * 2 >= total) return Math.round(durationBase ** (at - 0.5));
  }
  return null;
}
