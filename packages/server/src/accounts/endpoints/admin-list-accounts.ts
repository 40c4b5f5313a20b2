/** `GET /v1/admin/accounts`: the customers, for staff. */

import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type } from "../../kernel/http/schema.ts";
import { accountSchema, accountShape } from "../shapes.ts";
import { staffOperation } from "../staff-operations.ts";
import { listAccounts } from "../store.ts";

export const adminListAccounts = endpoint(
  {
    ...staffOperation,
    id: "admin.list_accounts",
    method: "GET",
    path: "/v1/admin/accounts",
    summary: "List the accounts",
    description: "Newest first.",
    query: closed({
      ...pageQuery,
      ...newestFirst.query,
      state: Type.Optional(oneOf(["active", "suspended", "closed"], "Only items in this state.")),
    }),
    replies: { 200: { description: "A page.", body: pageOf(accountSchema, "AdminAccountPage") } },
  },
  async (ctx, { query }) => {
    const binding = { operation: "admin.list_accounts", filters: [query.state ?? null], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const filter = query.state === undefined ? {} : { state: query.state };
    const rows = await ctx.read({ kind: "staff" }, (tx) => listAccounts(tx, filter, page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, accountShape) };
  },
);
