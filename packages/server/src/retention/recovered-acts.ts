/** What a rebuilt database gets of acts and of the reasons of holds: the chain of each vault has them. */

import type { Vault } from "@emanet/engine";
import type { Random } from "../kernel/clock.ts";
import type { Tx } from "../kernel/tx.ts";
import { insertLostAct, type NewAct } from "./act-store.ts";
import { mailAboutAct } from "./acts.ts";
import { policyOf, readChainRetention } from "./chain.ts";
import { closeAccount } from "./closing.ts";
import { deleteRows } from "./deletions.ts";
import { waitMs } from "./rules.ts";
import { holdsWithoutReason, setHold } from "./snapshot-store.ts";

/** Acts of before the chain named their member. */
export const unknownMember = "00000000-0000-0000-0000-000000000000";

/**
 * What was deleted stays deleted. An act that waits is announced again and waits 72 hours from now: owners could not cancel it while there
 * was no database. Can be repeated.
 */
export async function recoverActs(
  tx: Tx,
  random: Random,
  { accountId, vaultId }: { readonly accountId: string; readonly vaultId: string },
  vault: Vault,
): Promise<void> {
  const { acts, deletedSources, isVaultDeleted, holds } = await readChainRetention(vault);
  for (const snapshotId of await holdsWithoutReason(tx, vaultId)) {
    const { reason, review, by = "", at } = holds.get(snapshotId) ?? {};
    if (reason === undefined || at === undefined) continue;
    const reviewAt = review == null ? null : new Date(review);
    await setHold(tx, accountId, snapshotId, { reason, reviewAt, by, at: new Date(at) });
  }
  for (const sourceId of deletedSources) await deleteRows(tx, { accountId, vaultId, sourceId });
  const closings = [...acts.values()].filter(({ kind, done }) => kind === "account_closing" && done === true);
  for (const { until } of closings)
    if (until !== undefined) await closeAccount(tx, { random }, accountId, new Date(until));
  if (isVaultDeleted) await deleteRows(tx, { accountId, vaultId, sourceId: null });
  for (const [id, { kind, source, snapshot, policy, by, done }] of acts) {
    if (done === true) continue;
    const act: NewAct = {
      ...{ id, accountId, vaultId, kind, sourceId: source, snapshotId: snapshot, taxpayerId: null },
      ...{ policy: policy && policyOf(policy), createdBy: by ?? unknownMember },
      dueAt: new Date(tx.now.getTime() + waitMs),
    };
    if (await insertLostAct(tx, act)) await mailAboutAct(tx, random, act);
  }
}
