/**
 * Recovery after a loss: records in the chain that the vault goes on from here, and rebuilds the catalog. The record also
 * ends the damage of a broken chain: readers accept that what lies between the newest good record and it is lost.
 *
 * The record is first. Until the rebuild has read it, the old catalog adds nothing to the chain, or adds behind the record.
 */

import { appendIncarnation, chainWriter } from "../catalog/vault-chain.ts";
import { emptyChain } from "../format/chain.ts";
import type { Vault } from "../vault.ts";
import type { RebuildReport } from "./rebuild.ts";
import { rebuildBehind } from "./rebuild.ts";

/** Begins a new incarnation and rebuilds. `reason` is kept in the chain. The report names what the chain has lost. */
export async function recover(
  vault: Vault,
  reason: string,
  onProgress?: (progress: { readonly packs: number }) => void,
): Promise<RebuildReport> {
  const before = await appendIncarnation(chainWriter(vault, vault.authority), reason);
  const report = await rebuildBehind(emptyChain, vault, onProgress);
  return { ...report, chainFaults: [...before.faults, ...report.chainFaults] };
}
