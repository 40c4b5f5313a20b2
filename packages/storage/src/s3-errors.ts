/** Errors of an S3 server, and of the connection to it, as codes of the port. */

import { S3ServiceException } from "@aws-sdk/client-s3";
import { ObjectStoreError, type ObjectStoreErrorCode } from "@emanet/engine/object-store";
import { abortedError } from "./body.ts";

/** By the error code in the answer. Names of several servers: AWS, Ceph, MinIO, versitygw. */
const byName: Readonly<Record<string, ObjectStoreErrorCode>> = {
  NoSuchKey: "not_found",
  NotFound: "not_found",
  InvalidRange: "range",
  PreconditionFailed: "exists",
  // S3 refused two conditional writes at once and asks for a retry.
  ConditionalRequestConflict: "unavailable",
  OperationAborted: "unavailable",
  RequestTimeout: "unavailable",
  SlowDown: "unavailable",
  BadDigest: "corrupt",
  XAmzContentSHA256Mismatch: "corrupt",
  XAmzContentChecksumMismatch: "corrupt",
  EntityTooLarge: "too_large",
  QuotaExceeded: "full",
  InsufficientStorage: "full",
  XMinioStorageFull: "full",
  XMinioAdminBucketQuotaExceeded: "full",
  NoSuchBucket: "denied",
  NotImplemented: "unsupported",
  MethodNotAllowed: "denied",
};

/** Where the answer has no known code; a HEAD has no body, so no code at all. */
const byStatus: Readonly<Record<number, ObjectStoreErrorCode>> = {
  401: "denied",
  403: "denied",
  404: "not_found",
  408: "unavailable",
  409: "unavailable",
  412: "exists",
  413: "too_large",
  416: "range",
  429: "unavailable",
  501: "unsupported",
  507: "full",
};

/** An error of the client about what it read; it has no class or code. */
const checksumMismatch = /^Checksum mismatch/;

/** Turns what the client threw into the port's error; an `ObjectStoreError` passes through. */
export function s3Error(error: unknown, what: string, signal?: AbortSignal): ObjectStoreError {
  if (error instanceof ObjectStoreError) return error;
  if (signal?.aborted) return abortedError(signal);
  return new ObjectStoreError(codeOf(error), `${what}: ${describe(error)}`, { cause: error });
}

function codeOf(error: unknown): ObjectStoreErrorCode {
  if (error instanceof S3ServiceException) {
    const status = error.$metadata.httpStatusCode ?? 0;
    return byName[error.name] ?? byStatus[status] ?? (status >= 400 && status < 500 ? "denied" : "unavailable");
  }
  if (error instanceof Error && error.name === "CredentialsProviderError") return "denied";
  if (error instanceof Error && checksumMismatch.test(error.message)) return "corrupt";
  // Refused, reset, timed out, no such host, an answer cut short or unreadable: the server may be back soon.
  return "unavailable";
}

/** Code and status only: messages of servers repeat keys and headers. */
function describe(error: unknown): string {
  if (error instanceof S3ServiceException) return `${error.name} (${error.$metadata.httpStatusCode ?? "no status"})`;
  if (!(error instanceof Error)) return "unknown";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
