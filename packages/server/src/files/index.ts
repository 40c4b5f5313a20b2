/**
 * Snapshots file by file: each file comes in a request of its own, and a last request makes the snapshot. Owns the tables
 * `file_sessions`, `snapshot_files` and `snapshot_file_parts`. The states, events and the completion of a snapshot are those of
 * the domain `snapshots`.
 *
 * Nouns: a *file session* is an upload of the vault's catalog by which one process stores files of one snapshot
 * (`file-sessions.ts`). A *closed* upload takes no more files, because its
 * completion has begun.
 *
 * Invariants
 * - A file that was acknowledged is in the object store, sealed, and held by a file session until its snapshot ends. Any
 *   process answers the next call.
 * - A snapshot has the files that were acknowledged before its upload was closed, and no other.
 * - The tree does not depend on the way in: the same files as a tar make the same tree.
 * - Nothing is left of a snapshot that ended: no rows, no sessions.
 */

export { openFiles } from "./file-sessions.ts";
export { fileRecurrences, fileTasks } from "./tasks.ts";
