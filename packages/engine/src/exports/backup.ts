/** The part of the engine's face that backs up. Who needs no more loads no more. */

export { runBackup } from "../backup/backup.ts";
export { LocalTarget } from "../backup/local-target.ts";
export { FileCache } from "../cache/file-cache.ts";
export { writerKeys } from "../format/vault-keys.ts";
export { pathsSource } from "../source/folder-source.ts";
export { CutWorkerPool } from "../workers/cut-worker-pool.ts";
