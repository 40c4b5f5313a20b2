/** What went wrong with an upload: as the snapshot keeps it, and as the request is answered. */

import { CatalogError } from "@emanet/engine";
import { ArchiveTooLargeError, InvalidArchiveError, SpoolFullError } from "../archives/index.ts";
import { UploadInterrupted } from "../kernel/http/upload.ts";
import { type Language, Problem, type ProblemCode } from "../kernel/problems.ts";
import { storageProblem } from "../vaults/index.ts";
import { failureDetail } from "./failure-texts.ts";
import type { FailureCode } from "./rules.ts";

export interface UploadFailure {
  readonly code: FailureCode;
  readonly reason: string | null;
  /** What the request is answered with: a problem, or an error that is a fault of ours. */
  readonly answer: unknown;
}

/** Uploads end one after the other, so space is free again soon; a full disk takes longer. */
const retryAfterFullSeconds = 60;

const failureOfProblem: Partial<Readonly<Record<ProblemCode, FailureCode>>> = {
  quota_exceeded: "quota_exceeded",
  storage_full: "storage_full",
  content_mismatch: "content_mismatch",
  payload_too_large: "invalid_archive",
};

/** The failure that an error means. */
export function failureOf(thrown: unknown, language: Language): UploadFailure {
  const error = storageProblem(thrown);
  if (error instanceof InvalidArchiveError) return invalidArchive(error, language);
  if (error instanceof ArchiveTooLargeError) return failed("invalid_archive", new Problem("payload_too_large"));
  if (error instanceof SpoolFullError) {
    const headers = { "Retry-After": String(retryAfterFullSeconds) };
    return failed("storage_full", new Problem("storage_full", { headers, cause: error }));
  }
  if (error instanceof UploadInterrupted) return failed("upload_interrupted", error);
  // The upload was ended from outside: canceled, or taken for dead.
  if (error instanceof CatalogError)
    return failed("upload_interrupted", new Problem("state_conflict", { cause: error }));
  if (error instanceof Problem) return failed(failureOfProblem[error.code] ?? "internal", error);
  return failed("internal", error);
}

function failed(code: FailureCode, answer: unknown): UploadFailure {
  return { code, reason: null, answer };
}

/** Names the entry by its number. Its path is personal data. */
function invalidArchive(error: InvalidArchiveError, language: Language): UploadFailure {
  const pointer = error.entry === null ? "" : `/entries/${error.entry}`;
  const detail = failureDetail("invalid_archive", error.code, language);
  const answer = new Problem("invalid_archive", { errors: [{ pointer, code: error.code, detail }] });
  return { code: "invalid_archive", reason: error.code, answer };
}

/** The same answer, with the id of the snapshot that was left behind. */
export function withSnapshotId(answer: unknown, id: string): unknown {
  if (!(answer instanceof Problem)) return answer;
  const { extras, code } = answer;
  return new Problem(code, { ...extras, members: { ...extras.members, snapshot_id: id } });
}
