/**
 * The states of a restore.
 *
 *   pending    accepted, its job waits            → running, failed, canceled
 *   running    content is read and compared       → completed, failed, canceled
 *   completed  can be downloaded until it expires
 *   failed, canceled
 *
 * There is no other edge.
 */

export const statuses = ["pending", "running", "completed", "failed", "canceled"] as const;
export type Status = (typeof statuses)[number];

/** States in which it can still end in any way. */
export const openStates = ["pending", "running"] as const satisfies readonly Status[];

/** Why a restore ended without its files, and whether the same restore may succeed later. */
export const failures = {
  content_damaged: { retryable: false },
  snapshot_deleted: { retryable: false },
  canceled: { retryable: false },
  internal: { retryable: true },
} as const satisfies Record<string, { readonly retryable: boolean }>;

export type FailureCode = keyof typeof failures;
export const failureCodes = Object.keys(failures) as readonly FailureCode[];

/** What is not in the archive: a file whose content, or entries of a directory whose names, cannot be read. */
export const warningCodes = ["content_damaged", "entries_unreadable"] as const;
export type WarningCode = (typeof warningCodes)[number];

export const targetKinds = ["download"] as const;

export const damageActions = ["fail", "skip"] as const;

const dayMs = 24 * 60 * 60 * 1000;

/** The contract's: a download expires after so long. */
export const downloadLifeMs = 7 * dayMs;

/** A restore of more paths is several restores, or one of the directory above them. */
export const maxPaths = 1000;

/** Entries of one part: walking them to the first byte of a range takes some milliseconds, and a million files have a thousand parts. */
export const entriesPerPart = 1024;

/** What a killed job reads again at most, beside the file that it was in. */
export const bytesPerPart = 1024 * 1024 * 1024;

/** A completed restore whose time has passed, or whose snapshot was deleted, is over. */
export function hasExpired(restore: { readonly expires_at: Date | null }, now: Date): boolean {
  return restore.expires_at !== null && restore.expires_at <= now;
}
