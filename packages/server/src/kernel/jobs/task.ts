/**
 * What a job is, as data. A *task* is a kind of work, a *job* one piece of it, an *attempt* one run of a job. After a crash
 * a job runs again, so a repeated `run` must do no harm.
 */

import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";

/** What one attempt gets. `Ports` is what the process offers to its tasks: database, mail, settings. */
export interface JobContext<Ports> {
  readonly jobId: string;
  /** 1 for the first attempt. A run that a crash ended keeps its number. */
  readonly attempt: number;
  /** Aborts when the attempt was canceled, is over its time, or its worker stops. The task must end then. */
  readonly signal: AbortSignal;
  /** Stores how far the attempt is; at most one write a second, the last value wins. */
  readonly progress: (numbers: JobProgress) => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly ports: Ports;
}

/** For example `{ bytes: 1024, bytes_total: 4096 }`: only numbers, which hold nothing personal. */
export type JobProgress = Readonly<Record<string, number>>;

/** As the table stores them. A worker takes `high` before `normal` before `low`. */
export const priorities = { high: 1, normal: 2, low: 3 } as const;
export type Priority = keyof typeof priorities;

interface TaskSpec<Payload, Ports> {
  /** Throws for what is no payload of this task. Called when a job is enqueued, and again before it runs. */
  readonly parse: (payload: unknown) => Payload;
  /** The waits after the first, second, … failed attempt. When they are used up, the next failure is final. */
  readonly retry: readonly number[];
  readonly timeoutMs?: number;
  /** `normal` when absent. Jobs of `low` use at most half of a worker's slots, so that long upkeep never delays a mail. */
  readonly priority?: Priority;
  /** Stores payloads encrypted (sealed.ts): for those that hold more than ids. */
  readonly sealed?: boolean;
  readonly run: (payload: Payload, context: JobContext<Ports>) => Promise<void>;
}

export interface Task<Payload, Ports = unknown> extends Required<Omit<TaskSpec<Payload, Ports>, "run">> {
  readonly name: string;
  /** Of a recurring task: the first moment of its schedule after the given one. */
  readonly next?: ((after: Date) => Date) | undefined;
  /** Parses, then runs. What a worker calls: it holds tasks of many payload types in one list. */
  readonly execute: (payload: unknown, context: JobContext<Ports>) => Promise<void>;
}

/** Of one attempt: longer than the slowest send that still succeeds; short enough that stuck jobs free their slot. */
const defaultTimeoutMs = 60_000;
/** Work that takes longer than a day is divided into several jobs. */
const maxTimeoutMs = 24 * 60 * 60 * 1000;
/** `domain.verb_object`, at most a hundred characters. */
const taskNamePattern = /^(?=.{1,100}$)[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/;

export function task<Payload, Ports = unknown>(name: string, spec: TaskSpec<Payload, Ports>): Task<Payload, Ports> {
  const { retry, timeoutMs = defaultTimeoutMs, priority = "normal", sealed = false, parse, run } = spec;
  if (!taskNamePattern.test(name)) throw new RangeError(`task name "${name}" must be dotted lower-case words`);
  assertWhole(`timeoutMs of ${name}`, timeoutMs, 1, maxTimeoutMs);
  // What does not parse now does not parse later.
  const invalid = (cause: unknown) => Promise.reject(new PermanentJobError("invalid_payload", { cause }));
  const execute: Task<Payload, Ports>["execute"] = (payload, context) =>
    Promise.try(parse, payload).then((parsed) => run(parsed, context), invalid);
  return { name, retry, timeoutMs, priority, sealed, parse, execute };
}

/** More attempts than this would hide a fault instead of surviving one. */
export const maxRetries = 20;
/** No promise to customers has a longer step than a day. */
export const maxRetryDelayMs = 24 * 60 * 60 * 1000;

/** `retryAfter(1_000, 60_000)` is three attempts at most. `retryAfter()` never repeats. */
export function retryAfter(...delaysMs: readonly number[]): readonly number[] {
  assertWhole("the number of retries", delaysMs.length, 0, maxRetries);
  for (const delay of delaysMs) assertWhole("a retry delay", delay, 0, maxRetryDelayMs);
  return delaysMs;
}

/** A job costs a few statements; what must happen more often than once a second is no job. */
const minRecurrenceMs = 1_000;

/**
 * Makes a task recurring, with the payload `{}`: once per interval over all workers of a database, at whole multiples of it
 * since 1970, so that restarts do not shift it. After an outage one run replaces all missed ones.
 */
export function recurring<Ports>(task: Task<unknown, Ports>, { everyMs }: { everyMs: number }) {
  assertWhole("everyMs", everyMs, minRecurrenceMs, Number.MAX_SAFE_INTEGER);
  task.parse({});
  return { ...task, next: (after: Date) => new Date((Math.floor(after.getTime() / everyMs) + 1) * everyMs) };
}

/** The `parse` of tasks without a payload, such as recurring ones. */
export function noPayload(payload: unknown): Readonly<Record<string, never>> {
  if (JSON.stringify(payload) !== "{}") throw new TypeError("the payload must be {}");
  return {};
}

function assertWhole(what: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw new RangeError(`${what} must be a whole number from ${least} to ${most}, got ${value}`);
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
