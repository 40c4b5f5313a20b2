/** The payload of jobs that work on one restore. */

export interface RestorePayload {
  readonly accountId: string;
  readonly restoreId: string;
}

export function restorePayload(payload: unknown): RestorePayload {
  const { accountId, restoreId } = (payload ?? {}) as Record<string, unknown>;
  if (typeof accountId !== "string" || typeof restoreId !== "string")
    throw new TypeError("the payload must name an account and a restore");
  return { accountId, restoreId };
}
