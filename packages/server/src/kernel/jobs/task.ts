/**
 * What a job is, as data. Its nouns: a *task* is a kind of work with a name, the shape of its payload, a retry
 * schedule and the function that does it; a *job* is one piece of that work; an *attempt* is one run of a job.
 *
 * Invariants: a payload is checked by its task's `parse` when it is enqueued and again before it runs. A job runs at
 * least once: after a crash it runs again, so a repeated `run` must do no harm. Only the schedule of the task decides
 * when a failed attempt is repeated, and a {@link PermanentJobError} ends a job at once.
 */

import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";

/** What one attempt gets. `Ports` is what the worker process offers to its tasks: database, mail, settings. */
export interface JobContext<Ports> {
  readonly jobId: string;
  /** 1 for the first attempt. A run that a crash cut short keeps its number. */
  readonly attempt: number;
  /** Aborts when the attempt must end: its time is over, or the worker stops. A task that ignores it may overlap with its repetition. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  readonly ports: Ports;
}

/** A kind of job. Made by {@link task}; a module-level constant, so that enqueueing needs no ports. */
export interface Task<Payload, Ports = unknown> {
  readonly name: string;
  readonly retry: RetrySchedule;
  readonly timeoutMs: number;
  /** Whether its payloads are kept sealed; see sealed.ts. */
  readonly sealed: boolean;
  readonly parse: (payload: unknown) => Payload;
  /** Parses, then runs. What a worker calls: it holds tasks of many payload types in one list. */
  readonly execute: (payload: unknown, context: JobContext<Ports>) => Promise<void>;
}

export interface TaskSpec<Payload, Ports> {
  /** Throws for anything that is not a payload of this task. Payloads are JSON and hold ids rather than data. */
  readonly parse: (payload: unknown) => Payload;
  readonly retry: RetrySchedule;
  /** Longest time of one attempt; {@link defaultTimeoutMs} when absent. */
  readonly timeoutMs?: number;
  /** Keeps payloads sealed in the table: for those that hold more than ids. */
  readonly sealed?: boolean;
  readonly run: (payload: Payload, context: JobContext<Ports>) => Promise<void>;
}

/** Longer than the slowest send to a gateway that still succeeds; short enough that stuck jobs free their slot. */
export const defaultTimeoutMs = 60_000;

/** Half of graphile-worker's own four hours, after which it would take a running job for abandoned. */
export const maxTimeoutMs = 2 * 60 * 60 * 1000;

/**
 * Defines a task.
 *
 * @example
 * export const sendMessage = task("messages.send", {
 *   parse: parseMessageRef,
 *   retry: retryAfter(10_000, 60_000, 300_000),
 *   run: async ({ messageId }, { ports, signal }) => ports.mail.send(messageId, signal),
 * });
 */
export function task<Payload, Ports = unknown>(name: string, spec: TaskSpec<Payload, Ports>): Task<Payload, Ports> {
  if (!taskNamePattern.test(name) || name.length > maxTaskNameLength) {
    throw new RangeError(
      `task name "${name}" must be dotted lower-case words, at most ${maxTaskNameLength} characters`,
    );
  }
  const timeoutMs = spec.timeoutMs ?? defaultTimeoutMs;
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > maxTimeoutMs) {
    throw new RangeError(`timeoutMs of task "${name}" must be 1 to ${maxTimeoutMs}`);
  }
  return {
    name,
    retry: spec.retry,
    timeoutMs,
    sealed: spec.sealed ?? false,
    parse: spec.parse,
    execute: async (payload, context) => spec.run(parseOrGiveUp(spec.parse, payload), context),
  };
}

const taskNamePattern = /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/;
/** Enough for `domain.verb_object`; graphile-worker itself allows 128. */
const maxTaskNameLength = 100;

/** A payload that does not parse now does not parse later. */
function parseOrGiveUp<Payload>(parse: (payload: unknown) => Payload, payload: unknown): Payload {
  try {
    return parse(payload);
  } catch (cause) {
    throw new PermanentJobError("invalid_payload", { cause });
  }
}

/** The waits after the first, second, … failed attempt. When they are used up, the next failure is final. */
export interface RetrySchedule {
  readonly delaysMs: readonly number[];
}

/** More attempts than this would hide a fault instead of surviving one. */
export const maxRetries = 20;
/** No promise to customers has a longer step than a day. */
export const maxRetryDelayMs = 24 * 60 * 60 * 1000;

/** A schedule: `retryAfter(1_000, 60_000)` is three attempts at most. `retryAfter()` never repeats. */
export function retryAfter(...delaysMs: readonly number[]): RetrySchedule {
  if (delaysMs.length > maxRetries) throw new RangeError(`at most ${maxRetries} retries`);
  for (const delay of delaysMs) {
    if (!Number.isInteger(delay) || delay < 0 || delay > maxRetryDelayMs) {
      throw new RangeError(`a retry delay must be 0 to ${maxRetryDelayMs} ms, got ${delay}`);
    }
  }
  return { delaysMs };
}

/**
 * Thrown by a task when a repetition cannot help: it ends the job at once. The code is stored for the operator. The message
 * is not, because it can quote personal data.
 */
export class PermanentJobError extends Error {
  readonly code: string;

  constructor(code: string, options?: ErrorOptions) {
    super(code, options);
    this.code = code;
  }
}

/** Thrown by a task to be repeated by its schedule, like any other error, but with a code for the operator. */
export class TransientJobError extends Error {
  readonly code: string;

  constructor(code: string, options?: ErrorOptions) {
    super(code, options);
    this.code = code;
  }
}

/** A task that the worker enqueues again and again. Made by {@link recurring}. */
export interface Recurrence<Ports = unknown> {
  readonly task: Task<unknown, Ports>;
  /** The first moment of the schedule after the given one. */
  readonly next: (after: Date) => Date;
}

/** The worker polls its table once a second, so a shorter interval has no effect. */
export const minRecurrenceMs = 1_000;

/**
 * A recurring job: once per interval over all workers of a database, at whole multiples of it since 1970, so that
 * restarts do not shift it. After an outage one run replaces all missed ones. The payload is
 * `{}`. A failed run is retried by the task's schedule; when that is used up, the next interval starts again with attempt 1.
 */
export function recurring<Ports = unknown>(
  recurringTask: Task<unknown, Ports>,
  { everyMs }: { readonly everyMs: number },
): Recurrence<Ports> {
  if (!Number.isInteger(everyMs) || everyMs < minRecurrenceMs) {
    throw new RangeError(`everyMs must be a whole number of at least ${minRecurrenceMs}`);
  }
  recurringTask.parse({});
  return {
    task: recurringTask,
    next: (after) => new Date((Math.floor(after.getTime() / everyMs) + 1) * everyMs),
  };
}

/** The `parse` of tasks without a payload, such as recurring ones. */
export function noPayload(payload: unknown): Readonly<Record<string, never>> {
  const empty = typeof payload === "object" && payload !== null && Object.keys(payload).length === 0;
  if (!empty) throw new TypeError("the payload must be {}");
  return {};
}
