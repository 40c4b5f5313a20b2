/** The part of the engine that a restore into a folder needs; apart for the same reason as `backup.ts`. */

export type { OverwriteMode } from "../restore/folder/existing-folder.ts";
export { overwriteModes } from "../restore/folder/existing-folder.ts";
export type { RestoreAction, RestoreOptions, RestoreResult } from "../restore/folder/restore.ts";
export { restoreSnapshot } from "../restore/folder/restore.ts";
export { LocalReadPort } from "../restore/local-read-port.ts";
export { RestoreWorkerPool } from "../workers/restore-worker-pool.ts";
