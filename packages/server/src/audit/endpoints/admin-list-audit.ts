/** `GET /v1/admin/audit`: what was done, by whom, to what, in every chain. */

import { staffOperation } from "../../accounts/index.ts";
import { pageOf, pageQuery, sortable } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, text, uuid } from "../../kernel/http/schema.ts";
import { listRecords } from "../record-store.ts";
import { adminAuditRecordSchema, adminRecordShape, chainName, recordQuery } from "../shapes.ts";

const sorting = sortable("-occurred_at", "occurred_at");
const operation = "admin.list_audit";

export const adminListAudit = endpoint(
  {
    ...staffOperation,
    id: operation,
    method: "GET",
    path: "/v1/admin/audit",
    summary: "Read the audit trail",
    description: "The records of all accounts and of the platform, newest first.",
    query: closed({
      ...pageQuery,
      ...sorting.query,
      ...recordQuery,
      action: Type.Optional(text(64, { pattern: "^[a-z_.]+$", description: "Only records of this action." })),
      account_id: Type.Optional(uuid("Only records of this account.")),
      chain: Type.Optional(chainName),
    }),
    replies: { 200: { description: "A page.", body: pageOf(adminAuditRecordSchema, "AdminAuditPage") } },
  },
  async (ctx, { query }) => {
    const { limit: _limit, cursor: _cursor, sort: _sort, account_id, chain, ...filter } = query;
    const binding = { operation, filters: [account_id ?? null, chain ?? null, filter], sorting };
    const page = ctx.cursors.start(query, binding);
    const isNothing = account_id !== undefined && chain !== undefined && account_id !== chain;
    const rows = isNothing
      ? []
      : await ctx.read({ kind: "staff" }, (tx) => listRecords(tx, chain ?? account_id ?? null, [filter], page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, adminRecordShape) };
  },
);
