/** The same decisions, from what is signed in the object store alone. */

import { ChainMismatchError, signedSnapshots } from "@emanet/engine";
import { snapshotIdOf } from "../snapshots/index.ts";
import { isSamePolicy, readChainRetention } from "./chain.ts";
import type { VaultPolicies } from "./policy-store.ts";
import { type Decision, decide, noPolicy } from "./rules.ts";
import type { VaultSnapshot } from "./snapshot-store.ts";

type Sources = {
  readonly vault: Parameters<typeof signedSnapshots>[0];
  readonly now: Date;
  readonly signal: AbortSignal;
};

/**
 * Decides by the chain's policies, holds, locks and suspicions, and by the sources and times of signed manifests. Known damage and open
 * restores are the database's: who changes them there only keeps more, or less than a rule of the chain does. Throws
 * `ChainMismatchError` if the policies of the database are others than the chain's. With
 * `asDeleted` it says only what would become of these sources if they were deleted now.
 */
export async function signedDecisions(
  { vault, now, signal }: Sources,
  policies: VaultPolicies,
  rows: readonly VaultSnapshot[],
  asDeleted: ((sourceId: string) => boolean) | null = null,
): Promise<ReadonlyMap<string, Decision>> {
  const chain = await readChainRetention(vault);
  const different = [
    ...(isSamePolicy(policies.ofVault, chain.vaultPolicy) ? [] : ["the vault has another policy in the chain"]),
    ...[...new Set([...policies.sources, ...chain.sourcePolicies.keys()])]
      .filter((id) => !isSamePolicy(policies.ownOf(id) ?? noPolicy, chain.sourcePolicies.get(id) ?? noPolicy))
      .map((id) => `source ${id} has another policy in the chain`),
  ];
  if (different.length > 0) throw new ChainMismatchError(different);
  const known = new Map(rows.map((row) => [row.id, row]));
  const { snapshots } = await signedSnapshots(vault, signal);
  const decisions = new Map<string, Decision>();
  for (const [source, ofSource] of Map.groupBy(snapshots, (one) => one.source)) {
    if (asDeleted?.(source) === false) continue;
    const kept = ofSource.map(({ id: engineId, completedAt, retention }) => {
      const id = snapshotIdOf(engineId);
      const row = known.get(id);
      return {
        ...{ id, completedAt, isHeld: retention.hold, lockedUntil: retention.lockedUntil },
        isGood: row?.isGood ?? false,
        // A person has deleted it if the chain says so too.
        isSuspicious: chain.suspicious.has(id) && (row !== undefined || retention.expiresAt === null),
        isDeleted: asDeleted?.(source) ?? (chain.isVaultDeleted || chain.deletedSources.has(source)),
        ...{ isPinned: row?.isPinned ?? false, noticeEndsAt: retention.expiresAt },
      };
    });
    const policy = chain.sourcePolicies.get(source) ?? chain.vaultPolicy;
    for (const decision of decide(kept, policy, now.getTime())) decisions.set(decision.id, decision);
  }
  return decisions;
}
