/** What the operating system says, as the port's codes. */

import { ObjectStoreError, type ObjectStoreErrorCode } from "@emanet/engine/object-store";

const codes: Readonly<Record<string, ObjectStoreErrorCode>> = {
  // A quota or a file size limit is a full disk to whoever writes.
  ENOSPC: "full",
  EDQUOT: "full",
  EFBIG: "full",
  EACCES: "denied",
  EPERM: "denied",
  EROFS: "denied",
  // Somebody put a link where an object belongs; it is not followed.
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
  // EIO, EMFILE, EBUSY, ESTALE and whatever else: perhaps it passes; the cause says what it was.
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
