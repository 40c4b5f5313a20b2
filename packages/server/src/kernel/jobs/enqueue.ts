/** Enqueueing: a job is written by the transaction that needs it, so that both happen or neither. */

import type { Clock, Random } from "../clock.ts";
import type { Secrets } from "../secrets.ts";
import { sealPayload } from "./sealed.ts";
import { type Priority, priorities, type Task } from "./task.ts";

export interface JobRequest<Payload> {
  readonly task: Task<Payload, never>;
  readonly payload: NoInfer<Payload>;
  /** While a job of this task with this key is unfinished, running included, another one is not made. Ids only. */
  readonly key?: string;
  /** Of all jobs with this key, of any task, one runs at a time: for example one upkeep job per vault. Ids only. */
  readonly exclusiveKey?: string;
  /** That of the task when absent. */
  readonly priority?: Priority;
  /** By the application's clock; now when absent. */
  readonly runAt?: Date;
}

/** The largest mail, text and HTML, in UTF-8 and sealed. Larger data belongs in a table, and the job has its id. */
export const maxPayloadBytes = 256 * 1024;
/** Two UUIDs and a few words. */
export const maxKeyLength = 200;

export interface JobSources {
  readonly clock: Clock;
  readonly random: Random;
  readonly secrets?: Secrets | undefined;
}

/** Writes a job in the transaction of `client`. Returns its id, or undefined when an unfinished job has the same key. */
export async function enqueueJob<Payload>(
  client: { query(text: string, values: unknown[]): Promise<{ readonly rows: readonly unknown[] }> },
  sources: JobSources,
  request: JobRequest<Payload>,
): Promise<string | undefined> {
  const { id, text, values } = jobStatement(sources, request);
  const { rows } = await client.query(text, [...values]);
  return (rows as [{ readonly made: boolean }])[0].made ? id : undefined;
}

/** The statement that writes a job, and the id of the job. */
export function jobStatement<Payload>(
  { clock, random, secrets }: JobSources,
  request: JobRequest<Payload>,
): { readonly id: string; readonly text: string; readonly values: readonly unknown[] } {
  const { task, key = null, exclusiveKey = null, priority = task.priority } = request;
  for (const name of [key, exclusiveKey]) {
    if (name === null || (name.length > 0 && name.length <= maxKeyLength)) continue;
    throw new RangeError(`job key of ${task.name} must have 1 to ${maxKeyLength} characters`);
  }
  const now = clock.now();
  const id = random.uuid();
  const text = JSON.stringify(request.payload);
  // What a worker will read, which can differ from the given object.
  task.parse(JSON.parse(text));
  const payload = task.sealed ? sealPayload(secrets, task.name, id, text) : text;
  if (Buffer.byteLength(payload) > maxPayloadBytes) {
    throw new RangeError(`payload of ${task.name} is larger than ${maxPayloadBytes} bytes`);
  }
  const values = [id, task.name, payload, key, exclusiveKey, priorities[priority], request.runAt ?? now, now];
  return { id, text: "select emanet.enqueue_job($1, $2, $3, $4, $5, $6, $7, $8) as made", values };
}
