/**
 * Enqueueing: a job is written by the transaction that needs it, so that both happen or neither. The application role
 * has no rights on the table. It calls the function `emanet.enqueue_job` (migration 0014).
 */

import type { Clock, Random } from "../clock.ts";
import type { Secrets } from "../secrets.ts";
import { sealPayload } from "./sealed.ts";
import { type Priority, priorities, type Task } from "./task.ts";

/** What can enqueue: a `pg` client inside a transaction, or an adapter of one. */
export interface JobExecutor {
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}

export interface JobRequest<Payload> {
  readonly task: Task<Payload, never>;
  readonly payload: NoInfer<Payload>;
  /**
   * Names the work: while a job of this task with this key is unfinished (waiting, running or to be retried), another
   * one is not made. A running one counts too; where that could miss a change, put the change's id into the key.
   * Ids only, no personal data.
   */
  readonly key?: string;
  /** Of all jobs with this key, of any task, one runs at a time: for example one upkeep job per vault. Ids only. */
  readonly exclusiveKey?: string;
  /** That of the task when absent. */
  readonly priority?: Priority;
  /** Not before this moment of the application's clock; now when absent. */
  readonly runAt?: Date;
}

/** The largest mail, text and HTML, in UTF-8 and sealed. Larger data belongs in a table, and the job has its id. */
export const maxPayloadBytes = 256 * 1024;
/** Two UUIDs and a few words. */
export const maxKeyLength = 200;

export interface JobSources {
  readonly clock: Clock;
  readonly random: Random;
  /** Needed for tasks whose payloads are sealed. */
  readonly secrets?: Secrets | undefined;
}

/** Writes a job. Returns its id, or undefined when an unfinished job has the same key. */
export async function enqueueJob<Payload>(
  executor: JobExecutor,
  { clock, random, secrets }: JobSources,
  request: JobRequest<Payload>,
): Promise<string | undefined> {
  const { task, key, exclusiveKey, priority = task.priority } = request;
  for (const name of [key, exclusiveKey]) {
    if (name !== undefined && (name.length === 0 || name.length > maxKeyLength)) {
      throw new RangeError(`job key of ${task.name} must have 1 to ${maxKeyLength} characters`);
    }
  }
  const now = clock.now();
  const id = random.uuid();
  const text = serialise(task, request.payload);
  const payload = task.sealed ? sealPayload(secrets, { task: task.name, jobId: id }, text) : text;
  if (Buffer.byteLength(payload) > maxPayloadBytes) {
    throw new RangeError(`payload of ${task.name} is larger than ${maxPayloadBytes} bytes`);
  }
  const names = [key ?? null, exclusiveKey ?? null, priorities[priority]];
  const values = [id, task.name, payload, ...names, request.runAt ?? now, now];
  const statement = "select emanet.enqueue_job($1, $2, $3, $4, $5, $6, $7, $8) as enqueued";
  const [row] = (await executor.query(statement, values)).rows as readonly { readonly enqueued: boolean }[];
  if (row === undefined) throw new Error("emanet.enqueue_job returned no row");
  return row.enqueued ? id : undefined;
}

/** Checks the parsed JSON, which is what a worker reads; it can differ from the given object. */
function serialise<Payload>(task: Task<Payload, never>, payload: Payload): string {
  const text = JSON.stringify(payload);
  if (text === undefined) throw new TypeError(`payload of ${task.name} is not JSON`);
  task.parse(JSON.parse(text));
  return text;
}
