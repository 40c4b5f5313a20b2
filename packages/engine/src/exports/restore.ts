/** The part of the engine's face that restores. Who needs no more loads no more. */

export { restoreSnapshot } from "../restore/folder/restore.ts";
export { RestoreWorkerPool } from "../workers/restore-worker-pool.ts";
