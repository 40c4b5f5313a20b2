/**
 * Snapshots: the files of a source at one time. Owns the table `snapshots`, the spool of uploads and the worker threads that
 * cut and read content (`ctx.services.snapshots`). The states of a snapshot are in `rules.ts`.
 *
 * Invariants: a snapshot is completed in the very commit in which the catalog gets it, so a completed one lacks no byte; a
 * refusal before the first byte leaves nothing, a failure after it leaves a `failed` snapshot with its reason; an open upload
 * obeys its creator alone; content is compared with its hash before it is sent; a deleted snapshot can be undeleted for 72
 * hours, and its content is removed afterwards (`removal.ts`).
 */

export { type ArchiveFormat, archiveFormats, archiveMediaTypes, archiveReply } from "./archive-content.ts";
export { entriesBelow, inLargeChunks, partsOf, type WalkedEntry, type WriteName } from "./archive-entries.ts";
export { setChainExpiry, setExpiryIn } from "./chain-expiry.ts";
export { downloadHeaders } from "./content-headers.ts";
export { openSnapshots, type SnapshotServices } from "./content-services.ts";
export { engineId, snapshotIdOf } from "./engine-id.ts";
export { snapshotEvents } from "./events.ts";
export { fileHeaders, fileStatOf } from "./file-headers.ts";
export { endUpload, startUpload } from "./lifecycle.ts";
export { withTwinWarnings } from "./name-twins.ts";
export { requireAgentVault, seesStorage } from "./new-upload.ts";
export {
  entryAt,
  openContent,
  openTree,
  rangedFile,
  type SnapshotContent,
  type SnapshotTree,
  sent,
  visibleSnapshot,
  withStoreProblems,
} from "./read-content.ts";
export { keepForReading } from "./read-lease.ts";
export { addRecovered, noteRemoved, readRecovered, unremovedPage } from "./recovered-store.ts";
export { parseSnapshotPayload } from "./release-upload.ts";
export { pruneFullVault, removeSoon } from "./removal.ts";
export {
  contentProblem,
  deadAfterMs,
  type FailureCode,
  failureCodes,
  longestUploadMs,
  openStates,
  type Status,
  statuses,
  triggers,
} from "./rules.ts";
export { byteCount, showSnapshot, snapshotId, snapshotShape } from "./shapes.ts";
export { findSnapshot, lockSnapshot, type SnapshotRecord, touchUpload } from "./store.ts";
export { LinkGroups, tarMemberOf } from "./tar-stream.ts";
export { snapshotRecurrences, snapshotTasks } from "./tasks.ts";
export {
  bodyPath,
  bytesOfPath,
  entryFields,
  maxPathBytes,
  pathFields,
  showFields,
  textFields,
  warningShape,
} from "./tree-shapes.ts";
export { failureOf, withSnapshotId } from "./upload-failures.ts";
export { isCreator, isManager, lockOwnSnapshot } from "./visible-rows.ts";
export { ZipNames, zipCommentOf, zipMemberOf } from "./zip-stream.ts";
