/** `GET /v1/taxpayers`: the clients of an office, and whether their backups come. */

import { pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { allowedVaults, byTimeNameOrFreshness, freshnessSchema } from "../../vaults/index.ts";
import { taxpayerFields, taxpayerSchema, taxpayerShape } from "../shapes.ts";
import { listTaxpayers as readTaxpayers } from "../store.ts";

export const listTaxpayers = endpoint(
  {
    id: "taxpayers.list",
    method: "GET",
    path: "/v1/taxpayers",
    tag: "taxpayers",
    summary: "List the taxpayers",
    description:
      "Newest first. `sort=freshness` has the worst first (`never`, `late`, `ok`), then the names in the Turkish alphabet. The freshness of a taxpayer is the worst of its sources. A client that is limited to vaults sees the taxpayers of these alone.",
    access: { kind: "account", scope: "taxpayers:read" },
    withinVaults: true,
    query: closed({
      ...pageQuery,
      ...byTimeNameOrFreshness.query,
      state: Type.Optional(taxpayerFields.state),
      freshness: Type.Optional(freshnessSchema),
    }),
    replies: { 200: { description: "A page.", body: pageOf(taxpayerSchema, "TaxpayerPage") } },
  },
  async (ctx, { principal, query }) => {
    const within = allowedVaults(principal);
    const { state, freshness } = query;
    const filters = [principal.accountId, within, state ?? null, freshness ?? null];
    const binding = { operation: "taxpayers.list", filters, sorting: byTimeNameOrFreshness };
    const page = ctx.cursors.start(query, binding);
    const filter = { within, ...(state && { state }), ...(freshness && { freshness }) };
    const rows = await ctx.read(rowAccessOf(principal), (tx) => readTaxpayers(tx, principal.accountId, filter, page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, taxpayerShape) };
  },
);
