/**
 * The states of a snapshot, and what each allows.
 *
 *   queued     created, nothing arrived yet    → running (first byte), failed, canceled
 *   running    content arrives                 → completed, failed, canceled
 *   completed  the content can be read         → expired, deleted
 *   expired    retention has ended             → deleted
 *   failed, canceled                           → deleted
 *   deleted    not found any more              → what it was before, until its removal begins, after 72 hours
 *
 * There is no other edge.
 */

export const statuses = ["queued", "running", "completed", "failed", "canceled", "expired"] as const;
/** What the API shows. A deleted snapshot is not found. */
export type Status = (typeof statuses)[number];
export type State = Status | "deleted";

const edges: Readonly<Record<State, readonly State[]>> = {
  queued: ["running", "failed", "canceled"],
  running: ["completed", "failed", "canceled"],
  completed: ["expired", "deleted"],
  expired: ["deleted"],
  failed: ["deleted"],
  canceled: ["deleted"],
  deleted: ["completed", "expired", "failed", "canceled"],
};

export function canBecome(from: State, to: State): boolean {
  return edges[from].includes(to);
}

/** The states from which an upload comes to `to`. What is deleted comes back only by being undeleted. */
export function statesBefore(to: Status): readonly Status[] {
  return statuses.filter((from) => canBecome(from, to));
}

/** States in which an upload is open. */
export const openStates = ["queued", "running"] as const satisfies readonly State[];

export const triggers = ["manual", "api", "schedule", "e_archive"] as const;
export type Trigger = (typeof triggers)[number];

/** Why a snapshot has no content, and whether the same upload may succeed later. */
export const failures = {
  upload_abandoned: { retryable: true },
  upload_interrupted: { retryable: true },
  quota_exceeded: { retryable: false },
  storage_full: { retryable: true },
  invalid_archive: { retryable: false },
  content_mismatch: { retryable: true },
  verification_failed: { retryable: true },
  canceled: { retryable: false },
  internal: { retryable: true },
} as const satisfies Record<string, { readonly retryable: boolean }>;

export type FailureCode = keyof typeof failures;
export const failureCodes = Object.keys(failures) as readonly FailureCode[];

/** What reading the content answers in each state. */
export function contentProblem(status: Status): "state_conflict" | "snapshot_expired" | null {
  if (status === "completed") return null;
  return status === "expired" ? "snapshot_expired" : "state_conflict";
}

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

/** The contract's: an upload without a byte for so long is abandoned. */
export const idleUploadMs = 24 * hourMs;
/** The contract's: no upload lives longer, however busy. */
export const longestUploadMs = 7 * dayMs;
/** The contract's: a deleted snapshot can be undeleted for so long. */
export const undeleteMs = 72 * hourMs;
/** What arrived of an upload that ended without a snapshot is kept so long at least: the next try comes in the next night. */
export const arrivedKeptMs = 24 * hourMs;
/** A vault whose uploads fail every night is pruned after so long all the same: what it does not need counts in its quota. */
export const longestWaitMs = 7 * dayMs;
/** Packs of killed processes are looked for so long after a snapshot was completed. Marking a vault every night would cost more than they do. */
export const strayKeptMs = 7 * dayMs;
/** The contract's: uploads that are open in one account. */
export const maxOpenUploads = 400;

/** What only an ended upload has is removed so long after it was noticed: no younger snapshot expires either. */
export const endedKeptMs = 14 * 24 * 60 * 60 * 1000;

/** The contract's. */
export const maxLabelLength = 200;
/** The contract's: 50 keys of 500 characters. */
export const maxMetadataKeys = 50;
/** A name of a fact, not a fact. */
export const maxMetadataKeyLength = 50;
/** The contract's. */
export const maxMetadataValueLength = 500;
/** Longer than ids of other systems are. */
export const maxExternalReferenceLength = 200;

/**
 * So often a process that receives uploads says that it lives. By the time of the database: a process lives by real time, also
 * where tests move the clock.
 */
export const heartbeatMs = 15_000;
/** Three lost messages may be a slow database. A fourth means that the process is dead. */
export const deadAfterMs = 4 * heartbeatMs;
