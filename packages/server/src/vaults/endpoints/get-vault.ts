/** `GET /v1/vaults/{id}`: one of them. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { reads, requireVault, vaultId } from "../operations.ts";
import { vaultSchema, vaultShape } from "../shapes.ts";
import { findVault } from "../vault-store.ts";

export const getVault = endpoint(
  {
    id: "vaults.get",
    method: "GET",
    path: "/v1/vaults/{id}",
    tag: "vaults",
    summary: "Read a vault",
    description: "With its quota and what is stored in it.",
    access: reads,
    withinVaults: true,
    params: vaultId,
    replies: { 200: { description: "The vault.", body: vaultSchema } },
  },
  async (ctx, { principal, params }) => {
    const row = await ctx.read(rowAccessOf(principal), (tx) =>
      requireVault(principal, findVault(tx, principal.accountId, params.id)),
    );
    return { status: 200, body: vaultShape(row) };
  },
);
