/**
 * The part of the engine that a backup of local files needs. A command that imports only this loads fewer modules and starts
 * faster (docs/decisions/0125).
 */

export { runBackup } from "../backup/backup.ts";
export { LocalTarget } from "../backup/local-target.ts";
export { FileCache } from "../cache/file-cache.ts";
export { writerKeys } from "../format/vault-keys.ts";
export { pathsSource } from "../source/folder-source.ts";
export { CutWorkerPool } from "../workers/cut-worker-pool.ts";
