/** `GET /v1/sources/{id}/retention`: what a source keeps. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, uuid } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { findSourceById, reads, requireInVault } from "../../vaults/index.ts";
import { readRetention } from "../change-policy.ts";
import { retentionShape } from "../shapes.ts";

export const getSourceRetention = endpoint(
  {
    id: "sources.get_retention",
    method: "GET",
    path: "/v1/sources/{id}/retention",
    tag: "retention",
    summary: "Read the retention policy of a source",
    description: "The policy of the source, or of its vault where it has none (`inherited`).",
    access: reads,
    withinVaults: true,
    params: closed({ id: uuid("Id of the source.") }),
    replies: { 200: { description: "The policy.", body: retentionShape } },
  },
  async (ctx, { principal, params }) => {
    const { accountId } = principal;
    const body = await ctx.read(rowAccessOf(principal), async (tx) => {
      const { vault_id: vaultId } = await requireInVault(principal, findSourceById(tx, accountId, params.id));
      return readRetention(tx, { accountId, vaultId, sourceId: params.id });
    });
    return { status: 200, body };
  },
);
