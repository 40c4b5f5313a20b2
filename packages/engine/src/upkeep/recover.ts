/**
 * Recovery after a loss: rebuilds the catalog and records in the chain that the vault goes on from here. The record also
 * ends the damage of a broken chain: readers accept that what lies between the newest good record and it is lost.
 */

import { appendIncarnation, chainWriter, VaultChain } from "../catalog/vault-chain.ts";
import type { Vault } from "../vault.ts";
import { identityOf } from "../vault.ts";
import type { RebuildReport } from "./rebuild.ts";
import { rebuild } from "./rebuild.ts";

/** Rebuilds and begins a new incarnation. `reason` is kept in the chain. */
export async function recover(
  vault: Vault,
  reason: string,
  onProgress?: (progress: { readonly packs: number }) => void,
): Promise<RebuildReport> {
  const report = await rebuild(vault, onProgress);
  const chain = new VaultChain({ store: vault.store, names: vault.names, ...identityOf(vault) });
  await appendIncarnation(chainWriter(vault, vault.authority), chain, reason);
  return report;
}
