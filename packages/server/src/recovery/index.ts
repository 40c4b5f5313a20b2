/**
 * Recovery: what is needed to make a lost database again from the object store and the master key, and to bring a database and a
 * store of different days together. Owns the tables `account_changes`, `account_records` and `store_beat`. Nouns:
 *
 * - a *record* of an account is its master data, sealed, in the object store: people and what they sign in with, clients, agents,
 *   vaults, sources, taxpayers. The platform has one too: its staff and the keys of receipts (`account-record.ts`).
 * - the *beat* is a number in the database and in the store. The service raises it every minute, in the database first. A store
 *   with a higher one has seen a newer database than this one.
 *
 * Content needs no record: packs, manifests and the chain of each vault are in the store already (docs/FORMAT.md).
 *
 * Invariants
 * - A record is at least as new as every change that is not in `account_changes` any more.
 * - A vault with an object in the store is in a record of its account: a new account, or a new vault, is recorded before its first use.
 * - A record is of one moment: what its rows refer to is in it.
 * - The service does not start on a database that is older than its store, until `recover` has run.
 * - Neither command deletes anything in the store.
 */

export { assertStoreIsNotNewer } from "./beat.ts";
export { openRecovery } from "./open-recovery.ts";
export { type RebuildResult, rebuildIndex } from "./rebuild-index.ts";
export { recordingAtOnce } from "./record-at-once.ts";
export { type RecoverResult, recoverService } from "./recover-service.ts";
export { recoveryRecurrences } from "./tasks.ts";
export { writeRecordOf } from "./write-records.ts";
