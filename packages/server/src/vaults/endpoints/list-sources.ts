/** `GET /v1/sources`: what is backed up, and whether it comes as expected. */

import { pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { byTimeNameOrFreshness, reads } from "../operations.ts";
import { freshnessSchema, sourceFields, sourceSchema, sourceShape } from "../shapes.ts";
import { listSources as readSources } from "../source-store.ts";
import { canonicalName } from "../upload-target.ts";
import { allowedVaults } from "../vault-restriction.ts";

export const listSources = endpoint(
  {
    id: "sources.list",
    method: "GET",
    path: "/v1/sources",
    tag: "sources",
    summary: "List the sources",
    description:
      "Newest first. `sort=freshness` has the worst first (`never`, `late`, `ok`), then the names in the Turkish alphabet. A client that is limited to vaults sees the sources of these alone.",
    access: reads,
    withinVaults: true,
    query: closed({
      ...pageQuery,
      ...byTimeNameOrFreshness.query,
      vault_id: Type.Optional(uuid("Only sources of this vault.")),
      name: Type.Optional(sourceFields.name),
      freshness: Type.Optional(freshnessSchema),
    }),
    replies: { 200: { description: "A page.", body: pageOf(sourceSchema, "SourcePage") } },
  },
  async (ctx, { principal, query }) => {
    const within = allowedVaults(principal);
    const { vault_id: vaultId, name, freshness } = query;
    const filters = [principal.accountId, within, vaultId ?? null, name ?? null, freshness ?? null];
    const binding = { operation: "sources.list", filters, sorting: byTimeNameOrFreshness };
    const page = ctx.cursors.start(query, binding);
    const filter = {
      within,
      ...(vaultId && { vaultId }),
      ...(name && { name: canonicalName(name) }),
      ...(freshness && { freshness }),
    };
    const rows = await ctx.read(rowAccessOf(principal), (tx) => readSources(tx, principal.accountId, filter, page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, sourceShape) };
  },
);
