/**
 * The part of the engine that a backup of local files needs. A command that imports only this loads fewer modules and starts
 * faster (docs/decisions/0125).
 */

export type { BackupProgress, BackupResult } from "../backup/backup.ts";
export { runBackup } from "../backup/backup.ts";
export { LocalTarget } from "../backup/local-target.ts";
export type { UploadSettings } from "../backup/upload-settings.ts";
export type { UploadTarget } from "../backup/upload-target.ts";
export { FileCache } from "../cache/file-cache.ts";
export { type WriterKeys, writerKeys } from "../format/vault-keys.ts";
export type { Writer } from "../format/writer-registration.ts";
export { pathsSource } from "../source/folder-source.ts";
export type { BackupSource, SourceEvent } from "../source/source.ts";
export type { WalkFilter } from "../source/walk-filter.ts";
export { CutWorkerPool, WorkerDiedError } from "../workers/cut-worker-pool.ts";
