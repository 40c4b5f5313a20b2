/** `POST /v1/vaults/{id}/rotate-keys`: a new key pair for a vault. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { requireVault, vaultId } from "../operations.ts";
import { vaultSchema, vaultShape } from "../shapes.ts";
import { findVault, noteRotation } from "../vault-store.ts";

export const rotateVaultKeys = endpoint(
  {
    id: "vaults.rotate_keys",
    method: "POST",
    path: "/v1/vaults/{id}/rotate-keys",
    tag: "vaults",
    summary: "Draw a new key pair for a vault",
    description: [
      "New content is sealed to the new pair; what is stored stays readable with the pairs before it, and nothing is uploaded again. Uploads in progress end",
      "with the pair that they began with. Use it if a private key or a recovery kit may be in wrong hands. Who has the old key still opens old content:",
      "only new content is safe from them. Owners only, with a fresh second factor.",
    ].join(" "),
    access: { kind: "account", scope: "snapshots:write", roles: ["owner"] },
    stepUp: true,
    params: vaultId,
    replies: { 200: { description: "The vault, with its new epoch.", body: vaultSchema } },
    errors: ["not_found", "state_conflict"],
  },
  async (ctx, { principal, params }) => {
    const { accountId } = principal;
    const access = rowAccessOf(principal);
    await ctx.read(access, (tx) => requireVault(principal, findVault(tx, accountId, params.id)));
    // The commit is between the key objects and the chain: processes open the vault anew before old keys are refused.
    await ctx.services.vaults.rotateKeys(accountId, params.id, (epoch) =>
      ctx.tx(access, async (tx) => {
        if (!(await noteRotation(tx, accountId, params.id, epoch))) throw new Problem("not_found");
        tx.audit({ action: "vault.keys_rotated", targets: [{ type: "vault", id: params.id }], metadata: { epoch } });
      }),
    );
    const row = await ctx.read(access, (tx) => requireVault(principal, findVault(tx, accountId, params.id)));
    return { status: 200, body: vaultShape(row) };
  },
);
