/** `GET /v1/vaults`: the vaults of an account. */

import { pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { byTimeOrName, reads } from "../operations.ts";
import { vaultSchema, vaultShape } from "../shapes.ts";
import { allowedVaults } from "../vault-restriction.ts";
import { listVaults as readVaults } from "../vault-store.ts";

export const listVaults = endpoint(
  {
    id: "vaults.list",
    method: "GET",
    path: "/v1/vaults",
    tag: "vaults",
    summary: "List the vaults",
    description: "Newest first. A client that is limited to vaults sees these alone.",
    access: reads,
    withinVaults: true,
    query: closed({
      ...pageQuery,
      ...byTimeOrName.query,
      kind: Type.Optional(oneOf(["default", "taxpayer", "other"], "Only vaults of this kind.")),
    }),
    replies: { 200: { description: "A page.", body: pageOf(vaultSchema, "VaultPage") } },
  },
  async (ctx, { principal, query }) => {
    const within = allowedVaults(principal);
    const { kind } = query;
    const filters = [principal.accountId, within, kind ?? null];
    const binding = { operation: "vaults.list", filters, sorting: byTimeOrName };
    const page = ctx.cursors.start(query, binding);
    const filter = { within, ...(kind && { kind }) };
    const rows = await ctx.read(rowAccessOf(principal), (tx) => readVaults(tx, principal.accountId, filter, page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, vaultShape) };
  },
);
