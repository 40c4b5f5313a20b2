/** The list of vaults that a client is held to. A vault outside it does not exist for the client. */

import type { Principal } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";

type AccountPrincipal = Extract<Principal, { accountId: string }>;

/** The vaults that the caller may see; null: all of the account. */
export function allowedVaults(principal: AccountPrincipal): readonly string[] | null {
  return principal.kind === "client" ? principal.vaultIds : null;
}

export function isVaultAllowed(principal: AccountPrincipal, vaultId: string): boolean {
  return allowedVaults(principal)?.includes(vaultId) ?? true;
}

/** Throws what a vault that does not exist would get. */
export function assertVaultAllowed(principal: AccountPrincipal, vaultId: string): void {
  if (!isVaultAllowed(principal, vaultId)) throw new Problem("not_found");
}
