/** `GET /v1/admin/bans`: the bans, for staff. */

import { staffOperation } from "../../accounts/index.ts";
import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type } from "../../kernel/http/schema.ts";
import { listBans } from "../ban-store.ts";
import { banSchema, banShape } from "../shapes.ts";

export const adminListBans = endpoint(
  {
    ...staffOperation,
    id: "admin.list_bans",
    method: "GET",
    path: "/v1/admin/bans",
    summary: "List the bans",
    description: "Newest first.",
    query: closed({
      ...pageQuery,
      ...newestFirst.query,
      state: Type.Optional(oneOf(["active"], "Only bans that are active now.")),
    }),
    replies: { 200: { description: "A page.", body: pageOf(banSchema, "AdminBanPage") } },
  },
  async (ctx, { query }) => {
    const binding = { operation: "admin.list_bans", filters: [query.state ?? null], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read({ kind: "staff" }, (tx) => listBans(tx, { active: query.state === "active" }, page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, banShape) };
  },
);
