/** `GET /v1/admin/members`: the people of all customers, for staff. */

import { listAllMembers, memberShape, type PersonRow, staffOperation } from "../../../accounts/index.ts";
import { newestFirst, pageOf, pageQuery } from "../../../kernel/cursors.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed } from "../../../kernel/http/schema.ts";
import { adminMemberSchema } from "../staff-shapes.ts";

export const adminListMembers = endpoint(
  {
    ...staffOperation,
    id: "admin.list_members",
    method: "GET",
    path: "/v1/admin/members",
    summary: "List the members of all accounts",
    description: "Newest first.",
    query: closed({ ...pageQuery, ...newestFirst.query }),
    replies: { 200: { description: "A page.", body: pageOf(adminMemberSchema, "AdminMemberPage") } },
  },
  async (ctx, { query }) => {
    const binding = { operation: "admin.list_members", filters: [], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read({ kind: "staff" }, (tx) => listAllMembers(tx, page));
    const item = (row: PersonRow) => ({ ...memberShape(row), account_id: row.account_id ?? "" });
    return { status: 200, body: ctx.cursors.page(rows, query, binding, item) };
  },
);
