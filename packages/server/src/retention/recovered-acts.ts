/** What a rebuilt database gets of policies, of acts and of the reasons of holds: the chain of each vault has them. */

import type { Vault } from "@emanet/engine";
import type { Random } from "../kernel/clock.ts";
import type { Tx } from "../kernel/tx.ts";
import { addLostSource } from "../vaults/index.ts";
import { insertLostAct, type NewAct } from "./act-store.ts";
import { mailAboutAct } from "./acts.ts";
import { type ChainRetention, isSamePolicy, policyOf, readChainRetention } from "./chain.ts";
import { closeAccount } from "./closing.ts";
import { deleteRows } from "./deletions.ts";
import { type PolicyPlace, policiesOf, setPolicy } from "./policy-store.ts";
import { noPolicy, waitMs } from "./rules.ts";
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
  const chain = await readChainRetention(vault);
  const { acts, deletedSources, isVaultDeleted, holds } = chain;
  await recoverPolicies(tx, { accountId, vaultId }, chain);
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

/** A record of the account may be a minute older than the chain, and nothing expires while the two differ. */
async function recoverPolicies(
  tx: Tx,
  place: Pick<PolicyPlace, "accountId" | "vaultId">,
  { vaultPolicy, sourcePolicies }: ChainRetention,
): Promise<void> {
  const known = await policiesOf(tx, place.vaultId);
  if (!isSamePolicy(known.ofVault, vaultPolicy)) await setPolicy(tx, { ...place, sourceId: null }, vaultPolicy);
  for (const sourceId of new Set([...known.sources, ...sourcePolicies.keys()])) {
    const policy = sourcePolicies.get(sourceId) ?? noPolicy;
    if (isSamePolicy(known.ownOf(sourceId) ?? noPolicy, policy)) continue;
    await addLostSource(tx, { ...place, sourceId });
    await setPolicy(tx, { ...place, sourceId }, policy);
  }
}
