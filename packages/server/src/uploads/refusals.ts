/** Refusals of the engine as problems. */

import { type Refusal, refusalOf } from "@emanet/engine";
import { SpoolFullError } from "../archives/index.ts";
import { Problem } from "../kernel/problems.ts";
import { storageProblem } from "../vaults/index.ts";

/** The longest detail of a field error. */
const maxDetailLength = 500;

/** Seconds. A vault that is out of step is repaired by people. */
const retryAfterStaleSeconds = 300;

/** Seconds. Other packs leave the spool soon. */
const retryAfterFullSeconds = 10;

/** The problem that an error of the engine means; every other error as it is. */
export function problemOf(error: unknown): unknown {
  const refusal = refusalOf(error);
  if (refusal !== null) return problemOfRefusal(refusal, error);
  if (error instanceof SpoolFullError) {
    const headers = { "Retry-After": String(retryAfterFullSeconds) };
    return new Problem("storage_full", { headers, cause: error });
  }
  return storageProblem(error);
}

/** The `reason` is what a client makes the engine's error from. Details name numbers and ids of the format, and no file. */
export function problemOfRefusal({ reason, detail }: Refusal, cause?: unknown): Problem {
  const members = { reason };
  if (reason === "malformed") {
    const errors = [{ pointer: "", code: reason, detail: detail.slice(0, maxDetailLength) }];
    return new Problem("validation_failed", { errors, members, cause });
  }
  if (reason !== "stale") return new Problem("state_conflict", { members, cause });
  const headers = { "Retry-After": String(retryAfterStaleSeconds) };
  return new Problem("unavailable", { members, headers, cause });
}
