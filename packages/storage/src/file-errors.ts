/** Errors of the operating system as codes of the port. */

import { ObjectStoreError, type ObjectStoreErrorCode } from "@emanet/engine/object-store";

const codes: Readonly<Record<string, ObjectStoreErrorCode>> = {
  // For a writer a quota or a file size limit is a full disk.
  ENOSPC: "full",
  EDQUOT: "full",
  EFBIG: "full",
  EACCES: "denied",
  EPERM: "denied",
  EROFS: "denied",
  // A link in place of an object is not followed.
  ELOOP: "denied",
  EINVAL: "unsupported",
  ENOSYS: "unsupported",
  ENOTSUP: "unsupported",
  EOPNOTSUPP: "unsupported",
};

/** Turns an error of `node:fs` into the port's; an `ObjectStoreError` passes through. */
export function fileError(error: unknown, what: string): ObjectStoreError {
  if (error instanceof ObjectStoreError) return error;
  const code = systemCode(error);
  // EIO, EMFILE, EBUSY, ESTALE and all others may be temporary; the cause has the original error.
  return new ObjectStoreError(codes[code] ?? "unavailable", `${what}: ${code}`, { cause: error });
}

/** Whether there is no such file, which is an answer and not a failure. */
export function isMissing(error: unknown): boolean {
  const code = systemCode(error);
  return code === "ENOENT" || code === "ENOTDIR";
}

/** The `code` of a system error, or "unknown". */
export function systemCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown";
}
