/**
 * Sealed payloads: those with the secret of a link, a code or an address are encrypted in the table, bound to their task
 * and job. A copy of the database does not reveal them, and a payload that was moved to another row does not open.
 */

import type { Secrets } from "../secrets.ts";
import { PermanentJobError } from "./task.ts";

/** The JSON that is stored in place of the given one. */
export function sealPayload(secrets: Secrets | undefined, task: string, jobId: string, text: string): string {
  if (secrets === undefined) throw new Error(`payloads of ${task} are sealed, but no secrets are given`);
  const sealed = secrets.seal("job-payload", Buffer.from(text), contextOf(task, jobId));
  return JSON.stringify({ sealed: sealed.toString("base64") });
}

/** The payload, opened. An unsealed one is returned unchanged, so that jobs of an earlier version run. */
export function openPayload(secrets: Secrets | undefined, task: string, jobId: string, payload: unknown): unknown {
  const { sealed } = (payload ?? {}) as { readonly sealed?: unknown };
  if (secrets === undefined || typeof sealed !== "string") return payload;
  try {
    return JSON.parse(secrets.unseal("job-payload", Buffer.from(sealed, "base64"), contextOf(task, jobId)).toString());
  } catch (cause) {
    // It will not open later either.
    throw new PermanentJobError("unreadable_payload", { cause });
  }
}

function contextOf(task: string, jobId: string): Buffer {
  return Buffer.from(`${task}\n${jobId}`);
}
