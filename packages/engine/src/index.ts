/**
 * The engine's public API, as the service and a client need it. Smaller entry points load less: `@emanet/engine/backup`,
 * `/restore`, `/vault` and `/object-store`. `@emanet/engine/local` adds what only a client needs. Other packages import
 * nothing else of the engine.
 *
 * The engine cuts files into blocks, deduplicates, encrypts, packs, restores and keeps vaults in order. It knows no HTTP.
 * The clock, random bytes, the object store and the catalog are passed in (`EngineContext`, `ObjectStore`, `Catalog`).
 */

export type { BackupOptions, BackupProgress, BackupResult } from "./backup/backup.ts";
export { runBackup } from "./backup/backup.ts";
export type { CutPart, FilePart, FileUploadOptions } from "./backup/file-upload.ts";
export { FileUpload, stripeBytes } from "./backup/file-upload.ts";
export { LocalTarget } from "./backup/local-target.ts";
export * from "./backup/upload-target.ts";
export { allSnapshotRows, allSnapshots } from "./catalog/all-snapshots.ts";
export * from "./catalog/catalog.ts";
export { IncompleteCatalogError } from "./catalog/claim-session.ts";
export { MemoryCatalog } from "./catalog/memory.ts";
export { OutdatedKeysError } from "./catalog/outdated-keys.ts";
export { ChainMismatchError } from "./catalog/vault-chain.ts";
export type { EngineContext } from "./context.ts";
export { Bitmap } from "./format/bitmap.ts";
export { FormatError } from "./format/bytes.ts";
export type { Manifest, SnapshotDraft } from "./format/manifest.ts";
export { acceptManifest, openDetails, openDraft, openManifest } from "./format/manifest.ts";
export { vaultNames } from "./format/object-names.ts";
export type { PackFrame, PackTable, VaultIdentity } from "./format/pack.ts";
export { readPackTable } from "./format/pack.ts";
export { decodeRecipe } from "./format/recipe.ts";
export { writeRecoveryKit } from "./format/recovery-kit.ts";
export type { SessionHeader } from "./format/session-header.ts";
export { parseSessionHeader, verifySessionHeader } from "./format/session-header.ts";
export type { Signer } from "./format/signing.ts";
export { signerFromSeed, signerId, verifySignature } from "./format/signing.ts";
export type { DiffPlace, TreeChange } from "./format/tree-diff.ts";
export { diffTrees } from "./format/tree-diff.ts";
export * from "./format/tree-entry.ts";
export type { NodeFaults } from "./format/tree-reader.ts";
export { entriesOf, findEntry, segmentsOf } from "./format/tree-reader.ts";
export type { VaultKeys, WriterKeys } from "./format/vault-keys.ts";
export { writerKeys } from "./format/vault-keys.ts";
export * from "./object-store.ts";
export * from "./protocol/index.ts";
export type { FileReaderOptions } from "./restore/file-reader.ts";
export { FileReader } from "./restore/file-reader.ts";
export { DamageError, FrameReader } from "./restore/frame-reader.ts";
export { frameReaderOf, LocalReadPort, recheckDamagedFrames } from "./restore/local-read-port.ts";
export { LruCache } from "./restore/lru-cache.ts";
export { reachOfPaths } from "./restore/reach-of-paths.ts";
export type { FrameKey, ReadKeys, ReadPort, SealedFrame } from "./restore/read-port.ts";
export { rootEntry } from "./restore/root-entry.ts";
export type { BackupSource, SourceEvent } from "./source/source.ts";
export * from "./source/stored-file.ts";
export type { HealReport } from "./upkeep/heal.ts";
export { heal } from "./upkeep/heal.ts";
export { markVault } from "./upkeep/mark.ts";
export type { PruneOptions, PruneReport } from "./upkeep/prune.ts";
export { prune } from "./upkeep/prune.ts";
export type { RebuildReport } from "./upkeep/rebuild.ts";
export { rebuild } from "./upkeep/rebuild.ts";
export { recover } from "./upkeep/recover.ts";
export type { RepackProgress, RepackReport } from "./upkeep/repack.ts";
export { repack } from "./upkeep/repack.ts";
export type { KeepReason, RetentionPlan, RetentionPolicy, RetentionSnapshot } from "./upkeep/retention.ts";
export { planRetention } from "./upkeep/retention.ts";
export { rewriteManifests } from "./upkeep/rewrite-manifests.ts";
export { rewritePacks } from "./upkeep/rewrite-packs.ts";
export type { KeyFinding, ManifestFinding, PackFinding, ScrubReport } from "./upkeep/scrub.ts";
export { packsToRewrite, scrub } from "./upkeep/scrub.ts";
export type { SignedSnapshot, SignedSnapshots } from "./upkeep/signed-state.ts";
export { readPolicies, recordPolicy, signedPresence, signedRetention, signedSnapshots } from "./upkeep/signed-state.ts";
export { deleteSnapshot, setRetention } from "./upkeep/snapshot-changes.ts";
export type { FreedSpace } from "./upkeep/space-estimate.ts";
export { spaceFreedBy } from "./upkeep/space-estimate.ts";
export type { VerifyFinding, VerifyReport } from "./upkeep/verify.ts";
export { verifySnapshots } from "./upkeep/verify.ts";
export * from "./vault.ts";
export { CutWorkerPool, WorkerDiedError } from "./workers/cut-worker-pool.ts";
export { RestoreWorkerPool } from "./workers/restore-worker-pool.ts";
