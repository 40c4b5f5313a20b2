/**
 * Sealed payloads: a payload with the secret of a link, a code or an address is encrypted in the table. The payloads of a
 * task with `sealed: true` are sealed when they are enqueued, bound to the task and the job, and opened by the worker
 * that runs the job. A copy of the database does not reveal them, and a payload that was moved to another row does not
 * open.
 */

import type { Secrets } from "../secrets.ts";
import { PermanentJobError } from "./task.ts";

/** The job that a payload belongs to. */
export interface PayloadOwner {
  readonly task: string;
  readonly jobId: string;
}

/** The JSON that is stored in place of the given one. */
export function sealPayload(secrets: Secrets | undefined, owner: PayloadOwner, text: string): string {
  if (secrets === undefined) throw new Error(`payloads of ${owner.task} are sealed, but no secrets are given`);
  const sealed = secrets.seal("job-payload", Buffer.from(text), contextOf(owner));
  return JSON.stringify({ sealed: sealed.toString("base64") });
}

/**
 * The payload, opened. An unsealed payload is returned unchanged, so that jobs of an earlier version run.
 * Throws a {@link PermanentJobError} when it does not open; it will not open later either.
 */
export function openPayload(secrets: Secrets, owner: PayloadOwner, payload: unknown): unknown {
  const { sealed } = (payload ?? {}) as { readonly sealed?: unknown };
  if (typeof sealed !== "string") return payload;
  try {
    const text = secrets.unseal("job-payload", Buffer.from(sealed, "base64"), contextOf(owner)).toString();
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new PermanentJobError("unreadable_payload", { cause });
  }
}

function contextOf({ task, jobId }: PayloadOwner): Buffer {
  return Buffer.from(`${task}\n${jobId}`);
}
