/** The part of the engine's face that opens a vault. Who needs no more loads no more. */

export type { EngineContext } from "../context.ts";
export type { SnapshotRow } from "../index/port.ts";
export type { SqliteIndex } from "../index/sqlite.ts";
export { openSqliteIndex } from "../index/sqlite.ts";
export type { Signer } from "../keys/signing.ts";
export { signerFromSeed } from "../keys/signing.ts";
export type { ObjectStore } from "../object-store.ts";
export type { Vault } from "../vault.ts";
export { createVault, openVault, registerWriter } from "../vault.ts";
