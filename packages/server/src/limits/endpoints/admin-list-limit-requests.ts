/** `GET /v1/admin/rate-limit-requests`: the requests for other limits, for staff. */

import { staffOperation } from "../../accounts/index.ts";
import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type, uuid } from "../../kernel/http/schema.ts";
import { limitRequestSchema, limitRequestShape } from "../shapes.ts";
import { type LimitRequestRow, listLimitRequests } from "../store.ts";

export const adminListLimitRequests = endpoint(
  {
    ...staffOperation,
    id: "admin.list_limit_requests",
    method: "GET",
    path: "/v1/admin/rate-limit-requests",
    summary: "List the requests for other limits",
    description: "Newest first.",
    query: closed({
      ...pageQuery,
      ...newestFirst.query,
      state: Type.Optional(oneOf(["pending", "approved", "rejected"], "Only items in this state.")),
    }),
    replies: {
      200: { description: "A page.", body: pageOf(adminRequestSchema(), "AdminLimitRequestPage") },
    },
  },
  async (ctx, { query }) => {
    const binding = { operation: "admin.list_limit_requests", filters: [query.state ?? null], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const filter = query.state === undefined ? {} : { state: query.state };
    const rows = await ctx.read({ kind: "staff" }, (tx) => listLimitRequests(tx, filter, page));
    const item = (row: LimitRequestRow) => ({ ...limitRequestShape(row), account_id: row.account_id });
    return { status: 200, body: ctx.cursors.page(rows, query, binding, item) };
  },
);

function adminRequestSchema() {
  return closed(
    { ...limitRequestSchema.properties, account_id: uuid("The account that requests the limit.") },
    { title: "AdminLimitRequest" },
  );
}
