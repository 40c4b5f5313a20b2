/** `GET /v1/audit/shares/{id}`. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import { shareId, shareSchema, shareShape } from "../shapes.ts";
import { findShare } from "../share-store.ts";

export const getShare = endpoint(
  {
    id: "audit_shares.get",
    method: "GET",
    path: "/v1/audit/shares/{id}",
    tag: "audit",
    summary: "Read an audit share",
    description:
      "The share without its token. What was read with it is in the audit trail: `/v1/audit/events?actor_id=…`.",
    access: { kind: "account", scope: "audit:read" },
    params: shareId,
    replies: { 200: { description: "The share.", body: shareSchema } },
  },
  async (ctx, { principal, params }) => {
    const row = await ctx.read(rowAccessOf(principal), (tx) => findShare(tx, principal.accountId, params.id));
    if (row === undefined) throw new Problem("not_found");
    return { status: 200, body: shareShape(row, ctx.clock.now()) };
  },
);
