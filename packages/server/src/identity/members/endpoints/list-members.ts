/** `GET /v1/members`: the people of an account. */

import { listMembers, memberSchema, memberShape } from "../../../accounts/index.ts";
import { oldestFirst, pageOf, pageQuery } from "../../../kernel/cursors.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed } from "../../../kernel/http/schema.ts";
import { rowAccessOf } from "../../../kernel/principal.ts";
import { reads } from "../members.ts";

export const listAccountMembers = endpoint(
  {
    id: "members.list",
    method: "GET",
    path: "/v1/members",
    tag: "members",
    summary: "List the members",
    description: "Oldest first, without removed members.",
    access: reads,
    query: closed({ ...pageQuery, ...oldestFirst.query }),
    replies: { 200: { description: "A page.", body: pageOf(memberSchema, "MemberPage") } },
  },
  async (ctx, { principal, query }) => {
    const binding = { operation: "members.list", filters: [principal.accountId], sorting: oldestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read(rowAccessOf(principal), (tx) => listMembers(tx, principal.accountId, page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, memberShape) };
  },
);
