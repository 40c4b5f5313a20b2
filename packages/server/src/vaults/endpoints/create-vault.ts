/** `POST /v1/vaults`: a new vault. Its keys are made by its first use. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { changes, requireVault } from "../operations.ts";
import { vaultFields, vaultSchema, vaultShape } from "../shapes.ts";
import { countVaults, findVault, insertVault, maxVaults } from "../vault-store.ts";

export const createVault = endpoint(
  {
    id: "vaults.create",
    method: "POST",
    path: "/v1/vaults",
    tag: "vaults",
    summary: "Create a vault",
    description:
      "A vault has its own keys; nothing is shared between vaults. Every account has a default vault already, and every taxpayer gets one. Needs a fresh second factor.",
    access: changes,
    stepUp: true,
    body: closed(
      {
        name: vaultFields.name,
        quota_bytes: Type.Optional(vaultFields.quota_bytes),
        quota_warning_bytes: Type.Optional(vaultFields.quota_warning_bytes),
      },
      { title: "NewVault" },
    ),
    replies: { 201: { description: "The vault.", body: vaultSchema } },
    errors: ["quota_exceeded", "not_found"],
  },
  async (ctx, { principal, body }) => {
    const { accountId } = principal;
    const id = ctx.random.uuid();
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      if ((await countVaults(tx, accountId)) >= maxVaults) throw new Problem("quota_exceeded");
      await insertVault(tx, {
        id,
        accountId,
        name: body.name,
        taxpayerId: null,
        quotaBytes: body.quota_bytes ?? null,
        quotaWarningBytes: body.quota_warning_bytes ?? null,
      });
      tx.audit({ action: "vault.created", targets: [{ type: "vault", id }] });
      return requireVault(principal, findVault(tx, accountId, id));
    });
    return { status: 201, body: vaultShape(row) };
  },
);
