/**
 * Retention: which snapshots stay, and for how long. Owns the tables `retention_policies` and `pending_acts`, and of `snapshots` the columns
 * about holds, locks, suspicion and expiry. The rules are pure (`rules.ts`).
 *
 * Nouns
 * - a *policy* says what a vault or a source keeps: so many days, weeks, months, years; a *floor* and a *ceiling* in days.
 * - a *hold* keeps a snapshot until an owner releases it, a *lock* until a time.
 * - an *act* is what could remove a snapshot earlier. It waits 72 hours, owners are mailed, any owner cancels it.
 * - a *deletion* is an act that removes a source, a vault, or a taxpayer with its vault (`deletions.ts`).
 * - a *closing* is an act after which an account is only read (`closing.ts`).
 * - a *suspicious* snapshot lost or changed most files. It counts for no rule and freezes its source until a person accepts it.
 *
 * Invariants
 * - Nothing is removed that a hold, a lock, a floor, an open restore or a frozen source keeps, nor the newest good snapshot of a
 *   source, unless it is over the ceiling and owners knew for 30 days.
 * - Everything that decides is signed in the chain of the vault. What the database alone says removes nothing.
 * - An act is in the chain for 72 hours before it has an effect, by the earliest of three clocks.
 */

import { recurring } from "../kernel/jobs/index.ts";
import { engineId, snapshotIdOf } from "../snapshots/index.ts";
import type { Vaults } from "../vaults/index.ts";
import { applyRetention, findVaultsToApply } from "./apply.ts";
import { assessSnapshot, enqueueAssessment, findUnassessed } from "./assess.ts";
import { mailReviews } from "./mail-about-review.ts";
import { findWithBefore, setAssessment } from "./snapshot-store.ts";

export { deleteRows as deleteVaultRows } from "./deletions.ts";
export { type ErasureDecision, erasureDecision } from "./erasure-decision.ts";
export { retentionEvents } from "./events.ts";
export { recoverActs } from "./recovered-acts.ts";

const minuteMs = 60_000;

export const retentionTasks = [applyRetention, assessSnapshot];
export const retentionRecurrences = [
  recurring(findVaultsToApply, { everyMs: 5 * minuteMs }),
  recurring(findUnassessed, { everyMs: 10 * minuteMs }),
  recurring(mailReviews, { everyMs: 60 * minuteMs }),
];

/** From now on every completed snapshot is compared with the one before it. */
export function openRetention(vaults: Vaults): void {
  vaults.listen({
    async committed(tx, { vaultId, snapshot, hasContentOf }) {
      const snapshotId = snapshotIdOf(snapshot.id);
      const found = await findWithBefore(tx, snapshotId);
      if (found === undefined) return;
      const { account_id: accountId, before } = found;
      // Nothing was lost or changed (docs/decisions/0596).
      if (before !== null && (await hasContentOf(engineId(before))))
        await setAssessment(tx, accountId, snapshotId, null);
      else await enqueueAssessment(tx, { accountId, vaultId, snapshotId });
    },
  });
}
