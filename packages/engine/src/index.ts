/**
 * The engine's face. Everything that others may use is exported here; the rooms behind it are private.
 *
 * The engine cuts, hashes, seals, packs, indexes and restores. It knows no HTTP, no SQL dialect but its own SQLite, no
 * clock and no randomness: those come in through `EngineContext`, `ObjectStore` and `VaultIndex`.
 */

export type { BackupOptions, BackupProgress, BackupResult } from "./backup/backup.ts";
export { runBackup } from "./backup/backup.ts";
export { FileCache } from "./backup/cache.ts";
export { CutPool } from "./backup/cut-pool.ts";
export { folderSource, pathsSource } from "./backup/folder-source.ts";
export { LocalTarget, uploadLeaseMs } from "./backup/local-target.ts";
export { Matcher } from "./backup/matcher.ts";
export type { BackupSource, SourceEvent } from "./backup/source.ts";
export type { SegmentMatch, SegmentQuery, UploadTarget } from "./backup/target.ts";
export { Bitmap } from "./bitmap.ts";
export { FormatError } from "./bytes.ts";
export { IncompleteIndexError } from "./claims.ts";
export type { EngineContext } from "./context.ts";
export { DamageError, FrameReader } from "./frames/frame-reader.ts";
export { clearSound } from "./frames/marks.ts";
export { MemoryIndex } from "./index/memory.ts";
export * from "./index/port.ts";
export { openSqliteIndex, SqliteIndex } from "./index/sqlite.ts";
export type { SessionHeader } from "./keys/session.ts";
export { parseSessionHeader, verifySessionHeader } from "./keys/session.ts";
export type { Signer } from "./keys/signing.ts";
export { signerFromSeed } from "./keys/signing.ts";
export type { VaultKeys, WriterKeys } from "./keys/vault-keys.ts";
export { writerKeys } from "./keys/vault-keys.ts";
export type { Manifest, SnapshotDraft } from "./manifest.ts";
export { countersign, openDetails, openManifest } from "./manifest.ts";
export { vaultNames } from "./names.ts";
export * from "./object-store.ts";
export type { PackFrame, PackJudge, PackTable } from "./packs/pack.ts";
export { readPackTable } from "./packs/pack.ts";
export { readFile } from "./restore/read-file.ts";
export type { RestoreFailure, RestoreOptions, RestoreResult } from "./restore/restore.ts";
export { restoreSnapshot, rootEntry } from "./restore/restore.ts";
export { WritePool } from "./restore/write-pool.ts";
export type { KeepReason, RetentionPlan, RetentionPolicy, RetentionSnapshot } from "./retention.ts";
export { planRetention } from "./retention.ts";
export * from "./trees/entry.ts";
export { entriesOf, findEntry, segmentsOf } from "./trees/reader.ts";
export type { CollectOptions, CollectReport } from "./upkeep/collect.ts";
export { collect, markVault } from "./upkeep/collect.ts";
export type { HealReport } from "./upkeep/heal.ts";
export { heal } from "./upkeep/heal.ts";
export { deadPacks, liveness, markLive, wastefulPacks } from "./upkeep/liveness.ts";
export type { RebuildReport } from "./upkeep/rebuild.ts";
export { rebuild } from "./upkeep/rebuild.ts";
export type { RelayProgress, RelayReport } from "./upkeep/relay.ts";
export { relay } from "./upkeep/relay.ts";
export { restateManifests } from "./upkeep/restate.ts";
export { rewritePacks } from "./upkeep/rewrite-packs.ts";
export type { KeyFinding, ManifestFinding, PackFinding, ScrubReport } from "./upkeep/scrub.ts";
export { scrub } from "./upkeep/scrub.ts";
export { deleteSnapshot, setRetention } from "./upkeep/snapshots.ts";
export type { VerifyFinding, VerifyReport } from "./upkeep/verify.ts";
export { verifySnapshots } from "./upkeep/verify.ts";
export * from "./vault.ts";
