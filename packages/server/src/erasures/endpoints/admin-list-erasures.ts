/** `GET /v1/admin/erasures`: the same of every account, for staff. */

import { staffOperation } from "../../accounts/index.ts";
import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { adminErasureShape, showErasure } from "../shapes.ts";
import { listErasures } from "../store.ts";

const operation = "admin.list_erasures";

export const adminListErasures = endpoint(
  {
    ...staffOperation,
    id: operation,
    method: "GET",
    path: "/v1/admin/erasures",
    summary: "List erased vaults",
    description: "Erasures of all accounts, with their proofs.",
    query: closed({ ...pageQuery, ...newestFirst.query }),
    replies: { 200: { description: "A page of erasures.", body: pageOf(adminErasureShape, "AdminErasures") } },
  },
  async (ctx, { query }) => {
    const binding = { operation, filters: [], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read({ kind: "staff" }, (tx) => listErasures(tx, null, page));
    const shape = (row: (typeof rows)[number]) => ({ ...showErasure(row), account_id: row.account_id });
    return { status: 200, body: ctx.cursors.page(rows, query, binding, shape) };
  },
);
