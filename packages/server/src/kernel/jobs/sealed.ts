/**
 * Sealed payloads: what a job says and the table must not tell, such as the secret of a link, a code or an address. A
 * task that asks for it (`sealed: true`) has its payloads sealed to the task and the job when they are written, and
 * opened by the worker that runs the job. Copies of the database hold nothing to use; a payload that was moved to
 * another row does not open.
 */

import type { Secrets } from "../secrets.ts";
import { PermanentJobError } from "./task.ts";

/** What a payload belongs to. */
export interface PayloadOwner {
  readonly task: string;
  readonly jobId: string;
}

/** The JSON that is stored in place of the given one. */
export function sealPayload(secrets: Secrets, owner: PayloadOwner, text: string): string {
  const sealed = secrets.seal("job-payload", Buffer.from(text), contextOf(owner));
  return JSON.stringify({ sealed: sealed.toString("base64") });
}

/**
 * The payload that was sealed. One that was not is given back as it is: jobs that an earlier version wrote are run.
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
