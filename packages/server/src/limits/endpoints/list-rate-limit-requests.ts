/** `GET /v1/rate-limits/requests`: what the account has asked for. */

import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { limitRequestSchema, limitRequestShape } from "../shapes.ts";
import { listLimitRequests } from "../store.ts";

export const listRateLimitRequests = endpoint(
  {
    id: "rate_limits.list_requests",
    method: "GET",
    path: "/v1/rate-limits/requests",
    tag: "rate-limits",
    summary: "List the account's requests for other limits",
    description: "Newest first.",
    access: { kind: "account", scope: "account:read" },
    query: closed({ ...pageQuery, ...newestFirst.query }),
    replies: { 200: { description: "A page.", body: pageOf(limitRequestSchema, "RateLimitRequestPage") } },
  },
  async (ctx, { principal, query }) => {
    const { accountId } = principal;
    const binding = { operation: "rate_limits.list_requests", filters: [accountId], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read(rowAccessOf(principal), (tx) => listLimitRequests(tx, { accountId }, page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, limitRequestShape) };
  },
);
