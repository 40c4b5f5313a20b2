/** Registers an agent's key with vaults, and reads the keys with which it writes to them. */

import { registerWriter, writerKeys } from "@emanet/engine";
import type { Ctx } from "../kernel/http/endpoint.ts";
import { invalidField } from "../kernel/http/validate.ts";
import { rowAccessOf } from "../kernel/principal.ts";
import { type Language, Problem } from "../kernel/problems.ts";
import { allowedVaults, findDefaultVault, findVault, isVaultAllowed } from "../vaults/index.ts";
import { type AccountPrincipal, maxAgentVaults } from "./rules.ts";
import type { VaultRegistration } from "./store.ts";

/**
 * The vaults that a request names. Without names: those that the caller is held to, or the default one. Throws `validation_failed` for one
 * that the caller may not use.
 */
export async function wantedVaults(
  ctx: Pick<Ctx, "read">,
  principal: AccountPrincipal,
  named: readonly string[] | undefined,
  language: Language,
): Promise<readonly string[]> {
  const { accountId } = principal;
  return ctx.read(rowAccessOf(principal), async (tx) => {
    const held = allowedVaults(principal);
    if (named === undefined && held !== null) return held.slice(0, maxAgentVaults);
    if (named === undefined) {
      const vault = await findDefaultVault(tx, accountId);
      if (vault === undefined) throw new Error("an account without its default vault");
      return [vault.id];
    }
    const known = await Promise.all(named.map((id) => findVault(tx, accountId, id)));
    const isUsable = known.every((vault) => vault !== undefined && isVaultAllowed(principal, vault.id));
    if (!isUsable || named.length === 0)
      throw new Problem("validation_failed", { errors: [invalidField("/vaults", "not_allowed", language)] });
    return named;
  });
}

/** Signs a key for each vault. The vault is opened for it, which makes its keys at the first use. */
export async function registerWith(
  ctx: Pick<Ctx, "services">,
  accountId: string,
  vaultIds: readonly string[],
  publicKey: Uint8Array,
): Promise<VaultRegistration[]> {
  const registrations: VaultRegistration[] = [];
  for (const vaultId of vaultIds) {
    const vault = await ctx.services.vaults.open(accountId, vaultId);
    registrations.push({ vaultId, registration: registerWriter(vault, publicKey) });
  }
  return registrations;
}

/** What the agent needs to write: per vault its registration and the writer's keys. */
export async function writerKeysOf(
  ctx: Pick<Ctx, "services">,
  accountId: string,
  registrations: readonly VaultRegistration[],
) {
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
  const shapes: {
    vault_id: string;
    registration: string;
    epoch: number;
    public_key: string;
    block_id_key: string;
  }[] = [];
  for (const { vaultId, registration } of registrations) {
    const { epoch, publicKey, blockIdKey } = writerKeys((await ctx.services.vaults.open(accountId, vaultId)).keys);
    shapes.push({
      vault_id: vaultId,
      registration: base64(registration),
      epoch,
      public_key: base64(publicKey),
      block_id_key: base64(blockIdKey),
    });
  }
  return shapes;
}
