/** What the operations on vaults and sources share. */

import { sortable } from "../kernel/cursors.ts";
import { closed, uuid } from "../kernel/http/schema.ts";
import type { Principal } from "../kernel/principal.ts";
import { Problem } from "../kernel/problems.ts";
import { isVaultAllowed } from "./vault-restriction.ts";

export const reads = { kind: "account", scope: "snapshots:read" } as const;
/** Vaults, quotas and the settings of sources are changed by people, never by programs that upload. */
export const changes = { kind: "account", scope: "snapshots:write", roles: ["owner", "manager"] } as const;

export const vaultId = closed({ id: uuid("Id of the vault.") });
export const sourceId = closed({ id: uuid("Id of the source.") });

/** By time, or by name in the Turkish alphabet. */
export const byTimeOrName = {
  ...sortable("-created_at", "created_at", "name", "-name"),
  textKeys: { name: "name_order" },
};

/** The same, or the worst freshness first, then by name. */
export const byTimeNameOrFreshness = {
  ...sortable("-created_at", "created_at", "name", "-name", "freshness"),
  textKeys: { name: "name_order", freshness: "freshness_order" },
};

type AccountPrincipal = Extract<Principal, { accountId: string }>;

/** The vault, if the caller may see it; else `not_found`. */
export async function requireVault<Row extends { readonly id: string }>(
  principal: AccountPrincipal,
  found: Promise<Row | undefined>,
): Promise<Row> {
  const row = await found;
  if (row === undefined || !isVaultAllowed(principal, row.id)) throw new Problem("not_found");
  return row;
}

/** What belongs to a vault (a source, a taxpayer), if the caller may see that vault; else `not_found`. */
export async function requireInVault<Row extends { readonly vault_id: string }>(
  principal: AccountPrincipal,
  found: Promise<Row | undefined>,
): Promise<Row> {
  const row = await found;
  if (row === undefined || !isVaultAllowed(principal, row.vault_id)) throw new Problem("not_found");
  return row;
}
