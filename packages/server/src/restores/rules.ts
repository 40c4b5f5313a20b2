/**
 * The states of a restore.
 *
 *   pending    accepted, its job or its agent waits   → running, failed, canceled
 *   running    content is read and compared           → completed, failed, canceled
 *   completed  can be downloaded until it expires, or is on the machine
 *   failed, canceled
 *
 * There is no other edge. A restore to an agent is an *order*: it runs from the moment at which a process of the agent (a *run*) takes
 * it. A run that has been silent for {@link silentRunMs} can be replaced by another run of the same agent.
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
  agent_absent: { retryable: true },
  agent_revoked: { retryable: false },
  target_refused: { retryable: false },
  target_full: { retryable: true },
  write_failed: { retryable: true },
  internal: { retryable: true },
} as const satisfies Record<string, { readonly retryable: boolean }>;

export type FailureCode = keyof typeof failures;
export const failureCodes = Object.keys(failures) as readonly FailureCode[];

/** Why an agent ends an order without its files. */
export const agentFailureCodes = [
  ...(["content_damaged", "target_refused", "target_full", "write_failed", "internal"] as const),
] as const satisfies readonly FailureCode[];

/** What cannot be read: a file whose content, or entries of a directory whose names, are damaged. */
export const damageCodes = ["content_damaged", "entries_unreadable"] as const;
/** What an agent also reports: a file that was there and stays, one with another name, one that could not be written. */
export const warningCodes = [...damageCodes, "skipped", "renamed", "not_written"] as const;
export type WarningCode = (typeof warningCodes)[number];

export const targetKinds = ["download", "agent"] as const;

/** What an agent does where a file is there already. */
export const conflictActions = ["rename", "skip", "overwrite"] as const;

export const damageActions = ["fail", "skip"] as const;

const dayMs = 24 * 60 * 60 * 1000;

/** The contract's: a download expires after so long. */
export const downloadLifeMs = 7 * dayMs;

/** The contract's: an agent that has not begun, or not reported, for so long is absent. */
export const agentAbsentMs = dayMs;

/** An agent reports every minute. A run that has not for so long was killed, and another one may go on with its order. */
export const silentRunMs = 2 * 60 * 1000;

/** Open orders of one agent. At ten an hour, a day has 240; nobody waits for so many. */
export const maxOpenOrders = 100;

/** Warnings of one restore that are kept: more say nothing that these do not. */
export const maxOrderWarnings = 100_000;

/** A restore of more paths is several restores, or one of the directory above them. */
export const maxPaths = 1000;

/** Entries of one part: walking them to the first byte of a range takes some milliseconds, and a million files have a thousand parts. */
export const entriesPerPart = 1024;

/** What a killed job reads again at most, beside the file that it was in. */
export const bytesPerPart = 1024 * 1024 * 1024;

/** A restore ends with its snapshot. Retention expires none that a restore needs; the deletion of its source does. */
export function isSnapshotGone({ snapshot_state: state }: { readonly snapshot_state: string }): boolean {
  return state === "deleted" || state === "expired";
}

/** A completed restore whose time has passed, or whose snapshot was deleted, is over. */
export function hasExpired(restore: { readonly expires_at: Date | null }, now: Date): boolean {
  return restore.expires_at !== null && restore.expires_at <= now;
}
