/**
 * What a job is, as data. A *task* is a kind of work: its name, the shape of its payload, its retries and the function that
 * does it. A *job* is one piece of that work. An *attempt* is one run of a job.
 *
 * A payload is checked by its task's `parse` when it is enqueued and again before it runs. A job runs at least once: after
 * a crash it runs again, so a repeated `run` must do no harm. Only the task's schedule decides when a failed attempt is
 * repeated.
 */

import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";

/** What one attempt gets. `Ports` is what the worker process offers to its tasks: database, mail, settings. */
export interface JobContext<Ports> {
  readonly jobId: string;
  /** 1 for the first attempt. A run that a crash cut short keeps its number. */
  readonly attempt: number;
  /**
   * Aborts when the attempt must end: it was canceled, its time is over, or the worker stops. A task that ignores it may
   * overlap with its repetition.
   */
  readonly signal: AbortSignal;
  /** Stores how far the attempt is, as numbers by name; at most one write a second, the last value wins. */
  readonly progress: (numbers: JobProgress) => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly ports: Ports;
}

/** For example `{ bytes: 1024, bytes_total: 4096 }`. Only numbers, which hold nothing personal. */
export type JobProgress = Readonly<Record<string, number>>;

/** As the table stores them. A worker takes `high` before `normal` before `low`. */
export const priorities = { high: 1, normal: 2, low: 3 } as const;
export type Priority = keyof typeof priorities;

export interface TaskSpec<Payload, Ports> {
  /** Throws for anything that is not a payload of this task. Payloads are JSON and hold ids rather than data. */
  readonly parse: (payload: unknown) => Payload;
  readonly retry: RetrySchedule;
  /** Longest time of one attempt; {@link defaultTimeoutMs} when absent. */
  readonly timeoutMs?: number;
  /** `normal` when absent. Jobs of `low` use at most half of a worker's slots, so that long upkeep never delays a mail. */
  readonly priority?: Priority;
  /** Stores payloads sealed (sealed.ts): for those that hold more than ids. */
  readonly sealed?: boolean;
  readonly run: (payload: Payload, context: JobContext<Ports>) => Promise<void>;
}

/** A kind of job. Made by {@link task}; a module-level constant, so that enqueueing needs no ports. */
export interface Task<Payload, Ports = unknown> extends Required<Omit<TaskSpec<Payload, Ports>, "run">> {
  readonly name: string;
  /** Parses, then runs. What a worker calls: it holds tasks of many payload types in one list. */
  readonly execute: (payload: unknown, context: JobContext<Ports>) => Promise<void>;
}

/** Longer than the slowest send to a gateway that still succeeds; short enough that stuck jobs free their slot. */
export const defaultTimeoutMs = 60_000;
/** Work that takes longer than a day is divided into several jobs. */
export const maxTimeoutMs = 24 * 60 * 60 * 1000;
/** Enough for `domain.verb_object`. */
const maxTaskNameLength = 100;
const taskNamePattern = /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/;

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
  const { retry, timeoutMs = defaultTimeoutMs, priority = "normal", sealed = false, parse } = spec;
  if (!taskNamePattern.test(name) || name.length > maxTaskNameLength) {
    throw new RangeError(
      `task name "${name}" must be dotted lower-case words, at most ${maxTaskNameLength} characters`,
    );
  }
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > maxTimeoutMs) {
    throw new RangeError(`timeoutMs of task "${name}" must be 1 to ${maxTimeoutMs}`);
  }
  const execute: Task<Payload, Ports>["execute"] = async (payload, context) =>
    spec.run(parseOrGiveUp(parse, payload), context);
  return { name, retry, timeoutMs, priority, sealed, parse, execute };
}

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

/** An error with a code that is stored for the operator. The message is not stored: it can quote personal data. */
export class JobError extends Error {
  readonly code: string;

  constructor(code: string, options?: ErrorOptions) {
    super(code, options);
    this.code = code;
  }
}

/** Thrown by a task when a repetition cannot help: it ends the job at once. */
export class PermanentJobError extends JobError {}

/** Thrown by a task to be repeated by its schedule, like any other error, but with a code. */
export class TransientJobError extends JobError {}

/** A task that the worker enqueues again and again. Made by {@link recurring}. */
export interface Recurrence<Ports = unknown> {
  readonly task: Task<unknown, Ports>;
  /** The first moment of the schedule after the given one. */
  readonly next: (after: Date) => Date;
}

/** A job costs a few statements; what must happen more often than once a second is no job. */
export const minRecurrenceMs = 1_000;

/**
 * A recurring job: once per interval over all workers of a database, at whole multiples of it since 1970, so that
 * restarts do not shift it. After an outage one run replaces all missed ones. The payload is `{}`. A failed run is retried
 * by the task's schedule; when that is used up, the next interval starts again with attempt 1.
 */
export function recurring<Ports = unknown>(
  recurringTask: Task<unknown, Ports>,
  { everyMs }: { readonly everyMs: number },
): Recurrence<Ports> {
  if (!Number.isInteger(everyMs) || everyMs < minRecurrenceMs) {
    throw new RangeError(`everyMs must be a whole number of at least ${minRecurrenceMs}`);
  }
  recurringTask.parse({});
  return { task: recurringTask, next: (after) => new Date((Math.floor(after.getTime() / everyMs) + 1) * everyMs) };
}

/** The `parse` of tasks without a payload, such as recurring ones. */
export function noPayload(payload: unknown): Readonly<Record<string, never>> {
  const empty = typeof payload === "object" && payload !== null && Object.keys(payload).length === 0;
  if (!empty) throw new TypeError("the payload must be {}");
  return {};
}
