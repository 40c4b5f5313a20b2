/**
 * Vaults and the sources that are backed up into them. Owns the tables `vaults`, `sources`, `source_aliases` and
 * `source_writers`, and the vaults that this process has open (`ctx.services.vaults`). Its nouns:
 *
 * - a *vault* has keys of its own, a quota and a place in the object store. Every account has one default vault, made with
 *   the account; every taxpayer has one.
 * - a *source* is what is backed up into a vault over and over. Its name is unique in its vault; a name that it had before
 *   is an *alias* and still finds it.
 * - a *writer* is a client, an agent or a member that uploads. A source is bound to its first writer; people bind others.
 *
 * Invariants: a source belongs to one vault for ever; a name or an alias finds one source of its vault; what is stored in a
 * vault with a quota never exceeds it; the keys of a vault are made once. A transaction that changes a vault and its
 * sources locks the row of the vault first, so that no two wait for each other.
 */

export { deleteSources, deleteVault } from "./deletion-store.ts";
export { ClocksDifferError, earliestOf, earliestTime, maxClockDifferenceMs } from "./earliest-time.ts";
export { vaultEvents } from "./events.ts";
export { assertOverFloor, floorDaysOf } from "./floor-store.ts";
export { freshnessOf, summaryOfVault, type VaultSummary } from "./freshness-store.ts";
export { vaultRecurrences } from "./jobs.ts";
export { nameOrder } from "./name-order.ts";
export { openVaults, type Vaults, vaultBytes } from "./open-vaults.ts";
export { byTimeNameOrFreshness, changes, reads, requireInVault, requireVault } from "./operations.ts";
export { addBytes, assertQuotaLeft, releaseBytes, reserveBytes } from "./quota-store.ts";
export { addLostSource, noteRebuilt } from "./rebuilt-store.ts";
export {
  byteCount,
  freshnessSchema,
  lastSnapshotSchema,
  lastSnapshotShape,
  sourceFields,
  sourceShape,
  targetVaultId,
  vaultShape,
} from "./shapes.ts";
export { findSourceById, moveWriter, noteSnapshot, type SourceRow, type SourceSnapshot } from "./source-store.ts";
export { storageProblem } from "./storage-problems.ts";
export {
  checkTarget,
  findSource,
  type ResolvedTarget,
  requireWriter,
  resolveTarget,
  type TargetCaller,
  type UploadTarget,
} from "./upload-target.ts";
export { allowedVaults, assertVaultAllowed, isVaultAllowed } from "./vault-restriction.ts";
export {
  allVaults,
  countVaults,
  findAnyDefaultVault,
  findAnyVault,
  findDefaultVault,
  findVault,
  findVaultOfTaxpayer,
  findVaultToOpen,
  insertVault,
  lockVault,
  maxVaults,
  type NewVault,
  noteVerification,
  renameVault,
  type VaultRow,
} from "./vault-store.ts";
export { type Writer, writerName, writerOf } from "./writers.ts";
