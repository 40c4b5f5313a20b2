/** `POST /v1/taxpayers`: a new client of an office, and its vault. */

import { isTaxId } from "../../identifiers/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { countVaults, insertVault, maxVaults, requireInVault } from "../../vaults/index.ts";
import { taxpayerFields, taxpayerSchema, taxpayerShape } from "../shapes.ts";
import { findTaxpayer, insertTaxpayer } from "../store.ts";

export const createTaxpayer = endpoint(
  {
    id: "taxpayers.create",
    method: "POST",
    path: "/v1/taxpayers",
    tag: "taxpayers",
    summary: "Create a taxpayer",
    description:
      "Makes the taxpayer and a vault for it. 409 when the account has a taxpayer with this tax number. A client that is limited to vaults cannot make one.",
    access: { kind: "account", scope: "taxpayers:write" },
    body: closed(
      {
        name: taxpayerFields.name,
        tax_id: Type.String({
          minLength: 10,
          maxLength: 11,
          pattern: "^[0-9]+$",
          description: "VKN (10 digits) or TCKN (11 digits). The check digits must be right.",
          examples: ["1234567808"],
        }),
      },
      { title: "NewTaxpayer" },
    ),
    replies: { 201: { description: "The taxpayer.", body: taxpayerSchema } },
    errors: ["state_conflict", "quota_exceeded", "not_found"],
  },
  async (ctx, { principal, body, language }) => {
    const { accountId } = principal;
    if (!isTaxId(body.tax_id)) {
      throw new Problem("validation_failed", { errors: [invalidField("/tax_id", "invalid_checksum", language)] });
    }
    const [id, vaultId] = [ctx.random.uuid(), ctx.random.uuid()];
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      if ((await countVaults(tx, accountId)) >= maxVaults) throw new Problem("quota_exceeded");
      const { name, tax_id: taxId } = body;
      await insertVault(tx, {
        id: vaultId,
        accountId,
        name,
        taxpayerId: id,
        quotaBytes: null,
        quotaWarningBytes: null,
      });
      if (!(await insertTaxpayer(tx, { id, accountId, taxId, name, vaultId }))) throw new Problem("state_conflict");
      const targets = [
        { type: "taxpayer", id },
        { type: "vault", id: vaultId },
      ];
      tx.audit({ action: "taxpayer.created", targets });
      return requireInVault(principal, findTaxpayer(tx, accountId, id));
    });
    return { status: 201, body: taxpayerShape(row) };
  },
);
