/**
 * Recovery after a loss: adds an incarnation to the chain and rebuilds the catalog. The incarnation also ends the damage of
 * a broken chain: readers skip the places between the newest good record and it.
 *
 * The incarnation is written first. Until the rebuild has read it, the old catalog adds nothing to the chain, or adds after
 * the incarnation.
 */

import { appendIncarnation, chainWriter } from "../catalog/vault-chain.ts";
import { emptyChain } from "../format/chain.ts";
import type { Vault } from "../vault.ts";
import type { RebuildReport } from "./rebuild.ts";
import { rebuildIfChainHas } from "./rebuild.ts";

/** Begins a new incarnation and rebuilds. `reason` is kept in the chain. The report names what the chain has lost. */
export async function recover(
  vault: Vault,
  reason: string,
  onProgress?: (progress: { readonly packs: number }) => void,
): Promise<RebuildReport> {
  const before = await appendIncarnation(chainWriter(vault, vault.authority), reason);
  const report = await rebuildIfChainHas(emptyChain, vault, onProgress);
  return { ...report, chainFaults: [...before.faults, ...report.chainFaults] };
}
