/** `GET /v1/sources/{id}`: one of them. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { reads, requireInVault, sourceId } from "../operations.ts";
import { sourceSchema, sourceShape } from "../shapes.ts";
import { findSourceById } from "../source-store.ts";

export const getSource = endpoint(
  {
    id: "sources.get",
    method: "GET",
    path: "/v1/sources/{id}",
    tag: "sources",
    summary: "Read a source",
    description: "With its former names, its newest snapshot and its freshness.",
    access: reads,
    withinVaults: true,
    params: sourceId,
    replies: { 200: { description: "The source.", body: sourceSchema } },
  },
  async (ctx, { principal, params }) => {
    const row = await ctx.read(rowAccessOf(principal), (tx) =>
      requireInVault(principal, findSourceById(tx, principal.accountId, params.id)),
    );
    return { status: 200, body: sourceShape(row) };
  },
);
