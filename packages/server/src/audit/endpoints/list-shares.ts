/** `GET /v1/audit/shares`: who outside the account can read the audit trail, or could. */

import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { shareSchema, shareShape } from "../shapes.ts";
import { listShares as list } from "../share-store.ts";

const operation = "audit_shares.list";

export const listShares = endpoint(
  {
    id: operation,
    method: "GET",
    path: "/v1/audit/shares",
    tag: "audit",
    summary: "List audit shares",
    description:
      "The shares of the account, newest first, with those that were revoked or have expired. Tokens are not shown.",
    access: { kind: "account", scope: "audit:read" },
    query: closed({ ...pageQuery, ...newestFirst.query }),
    replies: { 200: { description: "A page of shares.", body: pageOf(shareSchema, "AuditSharePage") } },
  },
  async (ctx, { principal, query }) => {
    const { accountId } = principal;
    const binding = { operation, filters: [accountId], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read(rowAccessOf(principal), (tx) => list(tx, accountId, page));
    const now = ctx.clock.now();
    return { status: 200, body: ctx.cursors.page(rows, query, binding, (row) => shareShape(row, now)) };
  },
);
