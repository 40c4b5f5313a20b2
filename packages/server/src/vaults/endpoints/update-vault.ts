/** `PATCH /v1/vaults/{id}`: another name or quota. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { changes, requireVault, vaultId } from "../operations.ts";
import { settleQuotaWarning } from "../quota-store.ts";
import { vaultFields, vaultSchema, vaultShape } from "../shapes.ts";
import { updateVault as changeVault, findVault, lockVault } from "../vault-store.ts";

export const updateVault = endpoint(
  {
    id: "vaults.update",
    method: "PATCH",
    path: "/v1/vaults/{id}",
    tag: "vaults",
    summary: "Change a vault",
    description:
      "Changes name and quota. A quota below what is stored deletes nothing; it refuses new uploads. Needs a fresh second factor.",
    access: changes,
    stepUp: true,
    params: vaultId,
    body: closed(
      {
        name: Type.Optional(vaultFields.name),
        quota_bytes: Type.Optional(vaultFields.quota_bytes),
        quota_warning_bytes: Type.Optional(vaultFields.quota_warning_bytes),
      },
      { title: "VaultChange" },
    ),
    ifMatch: "optional",
    replies: { 200: { description: "The vault.", body: vaultSchema } },
  },
  async (ctx, { principal, params, body, requireMatch }) => {
    const { accountId } = principal;
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const before = await requireVault(principal, lockVault(tx, accountId, params.id));
      requireMatch(vaultShape(before));
      await changeVault(tx, accountId, params.id, body);
      await settleQuotaWarning(tx, params.id);
      const metadata = { fields: Object.keys(body).sort().join(" ") };
      tx.audit({ action: "vault.changed", targets: [{ type: "vault", id: params.id }], metadata });
      return requireVault(principal, findVault(tx, accountId, params.id));
    });
    return { status: 200, body: vaultShape(row) };
  },
);
