/** `PATCH /v1/taxpayers/{id}`: another name or state. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { renameVault, requireInVault } from "../../vaults/index.ts";
import { taxpayerFields, taxpayerId, taxpayerSchema, taxpayerShape } from "../shapes.ts";
import { updateTaxpayer as changeTaxpayer, findTaxpayer, lockTaxpayer } from "../store.ts";

export const updateTaxpayer = endpoint(
  {
    id: "taxpayers.update",
    method: "PATCH",
    path: "/v1/taxpayers/{id}",
    tag: "taxpayers",
    summary: "Change a taxpayer",
    description:
      "Changes name and state. Its vault gets the new name too, unless it was named otherwise. The tax number never changes.",
    access: { kind: "account", scope: "taxpayers:write" },
    withinVaults: true,
    params: taxpayerId,
    body: closed(
      { name: Type.Optional(taxpayerFields.name), state: Type.Optional(taxpayerFields.state) },
      { title: "TaxpayerChange" },
    ),
    ifMatch: "optional",
    replies: { 200: { description: "The taxpayer.", body: taxpayerSchema } },
  },
  async (ctx, { principal, params, body, requireMatch }) => {
    const { accountId } = principal;
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const before = await requireInVault(principal, lockTaxpayer(tx, accountId, params.id));
      requireMatch(taxpayerShape(before));
      await changeTaxpayer(tx, accountId, params.id, body);
      if (body.name !== undefined) await renameVault(tx, before.vault_id, before.name, body.name);
      const metadata = { fields: Object.keys(body).sort().join(" ") };
      tx.audit({ action: "taxpayer.changed", targets: [{ type: "taxpayer", id: params.id }], metadata });
      return requireInVault(principal, findTaxpayer(tx, accountId, params.id));
    });
    return { status: 200, body: taxpayerShape(row) };
  },
);
