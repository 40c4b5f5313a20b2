/**
 * Upkeep of vaults as background work: scrub, heal, repack. Owns the columns of `vaults` about it. Prune is part of the removal of snapshots
 * (`snapshots/removal.ts`), expiry of retention.
 *
 * Invariants: one job per vault at a time, over all kinds of upkeep; the vault that waits longest is next; nothing makes a backup or
 * a restore wait; a vault that staff have paused is left alone.
 */

import { recurring } from "../kernel/jobs/index.ts";
import { findVaultsToKeepUp, keepUpVault } from "./jobs.ts";

export { openUpkeep, type UpkeepCounts } from "./metrics.ts";

/** What is due once a day may wait some minutes more. */
const findEveryMs = 15 * 60_000;

export const upkeepTasks = [keepUpVault];
export const upkeepRecurrences = [recurring(findVaultsToKeepUp, { everyMs: findEveryMs })];
