/** Changing the policy of a vault or a source: at once if it removes nothing earlier, otherwise after 72 hours. */

import type { Ctx } from "../kernel/http/endpoint.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import { withStoreProblems } from "../snapshots/index.ts";
import { waitingAct } from "./act-store.ts";
import { cancelAct, scheduleAct } from "./acts.ts";
import { recordRetentionPolicy } from "./chain.ts";
import { type PolicyPlace, policiesOf, setPolicy } from "./policy-store.ts";
import { type Policy, removesNothingEarlier } from "./rules.ts";
import { showRetention } from "./shapes.ts";

/** The policy as the API shows it. */
export async function readRetention(tx: ReadTx, place: PolicyPlace) {
  const policies = await policiesOf(tx, place.vaultId);
  const own = place.sourceId === null ? policies.ofVault : policies.ownOf(place.sourceId);
  const pending = await waitingAct(tx, { ...place, kind: "policy_change", snapshotId: null });
  return showRetention(own ?? policies.ofVault, { inherited: own === null, pending });
}

/**
 * Returns whether the change waits. The caller holds the lock of the vault's policies. A change that holds at once ends one that
 * waits: what people said last counts.
 */
export async function changePolicy(
  tx: Tx,
  ctx: Pick<Ctx, "random" | "services">,
  place: PolicyPlace,
  after: Policy,
  memberId: string,
): Promise<boolean> {
  const policies = await policiesOf(tx, place.vaultId);
  const before = place.sourceId === null ? policies.ofVault : policies.for(place.sourceId);
  const wanted = { ...place, kind: "policy_change", snapshotId: null, taxpayerId: null, policy: after } as const;
  const targets = [
    { type: "vault", id: place.vaultId },
    ...(place.sourceId === null ? [] : [{ type: "source", id: place.sourceId }]),
  ];
  return withStoreProblems(async () => {
    if (!removesNothingEarlier(before, after)) {
      await scheduleAct(tx, ctx, wanted, memberId);
      return true;
    }
    const vault = await ctx.services.vaults.open(place.accountId, place.vaultId);
    const waiting = await waitingAct(tx, wanted);
    if (waiting !== undefined) await cancelAct(tx, vault, waiting, null);
    await recordRetentionPolicy(vault, place.sourceId, after, memberId);
    await setPolicy(tx, place, after);
    tx.audit({ action: "retention.changed", targets });
    return false;
  });
}
