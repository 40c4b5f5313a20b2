/** `GET /v1/sources/{id}/writers`: who may upload to a source. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { reads, requireInVault, sourceId } from "../operations.ts";
import { writerListSchema, writerListShape } from "../shapes.ts";
import { findSourceById, listWriters } from "../source-store.ts";

export const listSourceWriters = endpoint(
  {
    id: "sources.list_writers",
    method: "GET",
    path: "/v1/sources/{id}/writers",
    tag: "sources",
    summary: "List the writers of a source",
    description: "Others get 403 `writer_not_bound`. A source without writers is bound to the next that uploads to it.",
    access: reads,
    withinVaults: true,
    params: sourceId,
    replies: { 200: { description: "The writers, in the order in which they were bound.", body: writerListSchema } },
  },
  async (ctx, { principal, params }) => {
    const writers = await ctx.read(rowAccessOf(principal), async (tx) => {
      const source = await requireInVault(principal, findSourceById(tx, principal.accountId, params.id));
      return listWriters(tx, source.id);
    });
    return { status: 200, body: writerListShape(writers) };
  },
);
