/** The part of the engine that every command needs to open a local vault; apart for the same reason as `backup.ts`. */

export { allSnapshotRows, allSnapshots } from "../catalog/all-snapshots.ts";
export type { SnapshotInfo, SnapshotRow } from "../catalog/catalog.ts";
export type { SqliteCatalog } from "../catalog/sqlite/sqlite.ts";
export { openSqliteCatalog } from "../catalog/sqlite/sqlite.ts";
export type { EngineContext } from "../context.ts";
export { type Signer, signerFromSeed } from "../format/signing.ts";
export type { Writer } from "../format/writer-registration.ts";
export { writerFromSeed } from "../format/writer-registration.ts";
export type { ObjectEntry, ObjectStore } from "../object-store.ts";
export { ObjectStoreError } from "../object-store.ts";
export type { ReadableVault, Vault } from "../vault.ts";
export { createVault, openReadableVault, openVault, registerWriter } from "../vault.ts";
