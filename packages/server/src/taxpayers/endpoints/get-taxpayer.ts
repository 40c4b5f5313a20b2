/** `GET /v1/taxpayers/{id}`: one of them. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { requireInVault } from "../../vaults/index.ts";
import { taxpayerId, taxpayerSchema, taxpayerShape } from "../shapes.ts";
import { findTaxpayer } from "../store.ts";

export const getTaxpayer = endpoint(
  {
    id: "taxpayers.get",
    method: "GET",
    path: "/v1/taxpayers/{id}",
    tag: "taxpayers",
    summary: "Read a taxpayer",
    description: "With its vault, its newest snapshot and its freshness. The tax number is masked.",
    access: { kind: "account", scope: "taxpayers:read" },
    withinVaults: true,
    params: taxpayerId,
    replies: { 200: { description: "The taxpayer.", body: taxpayerSchema } },
  },
  async (ctx, { principal, params }) => {
    const row = await ctx.read(rowAccessOf(principal), (tx) =>
      requireInVault(principal, findTaxpayer(tx, principal.accountId, params.id)),
    );
    return { status: 200, body: taxpayerShape(row) };
  },
);
