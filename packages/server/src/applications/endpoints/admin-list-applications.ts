/** `GET /v1/admin/applications`: who wants to become a customer. */

import { staffOperation } from "../../accounts/index.ts";
import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, oneOf, Type } from "../../kernel/http/schema.ts";
import { applicationStates } from "../shapes.ts";
import { applicationSchema, applicationShape } from "../staff-shapes.ts";
import { listApplications } from "../store.ts";

export const adminListApplications = endpoint(
  {
    ...staffOperation,
    id: "admin.list_applications",
    method: "GET",
    path: "/v1/admin/applications",
    summary: "List the applications",
    description: "Newest first.",
    query: closed({
      ...pageQuery,
      ...newestFirst.query,
      status: Type.Optional(oneOf(applicationStates, "Only items in this state.")),
    }),
    replies: { 200: { description: "A page.", body: pageOf(applicationSchema, "AdminApplicationPage") } },
  },
  async (ctx, { query }) => {
    const binding = { operation: "admin.list_applications", filters: [query.status ?? null], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const filter = query.status === undefined ? {} : { status: query.status };
    const rows = await ctx.read({ kind: "staff" }, (tx) => listApplications(tx, filter, page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, applicationShape) };
  },
);
