/** The part of the engine's face that backs up. Who needs no more loads no more. */

export { runBackup } from "../backup/backup.ts";
export { FileCache } from "../backup/cache.ts";
export { CutPool } from "../backup/cut-pool.ts";
export { pathsSource } from "../backup/folder-source.ts";
export { LocalTarget } from "../backup/local-target.ts";
export { writerKeys } from "../keys/vault-keys.ts";
