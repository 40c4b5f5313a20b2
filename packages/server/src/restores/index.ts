/**
 * Restores: files of a snapshot brought back. Owns the tables `restores`, `restore_parts` and `restore_warnings`. The states are in
 * `rules.ts`.
 *
 * A restore to a *download* is prepared by a job: it reads everything, compares it with its hashes and *freezes* the archive. Frozen is what
 * the tree does not say: checksums, what is left out, which names are links. It is kept in *parts*, so that any range is made at
 * any time, in any process, without a copy of the archive (`archive-range.ts`).
 *
 * Invariants: the bytes of a completed restore never change until it expires; what is in its archive was read and compared; what could not be
 * read is named; an event and an audit record are in the commit of each change of state; a restore needs its snapshot: it pins the
 * content, and ends when the snapshot is deleted.
 */

export { restoreEvents } from "./events.ts";
export { openArchive, restoreAccess, visibleRestore } from "./read-restore.ts";
export { failureCodes, statuses, targetKinds } from "./rules.ts";
export { restoreId } from "./shapes.ts";
export { findRestore, type RestoreRecord } from "./store.ts";
export { restoreRecurrences, restoreTasks } from "./tasks.ts";
