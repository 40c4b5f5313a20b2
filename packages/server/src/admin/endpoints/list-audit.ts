/** `GET /v1/admin/audit`: what was done, by whom, to what. */

import { pageOf, pageQuery, sortable } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, type Static, Type, text, uuid } from "../../kernel/http/schema.ts";
import { auditRecordSchema } from "../shapes.ts";
import { type AuditRow, listAuditRecords } from "../store.ts";

const sorting = sortable("-occurred_at", "occurred_at");

export const listAudit = endpoint(
  {
    id: "admin.list_audit",
    method: "GET",
    path: "/v1/admin/audit",
    tag: "admin",
    summary: "Read the audit trail",
    description: "The records of all accounts and of the platform, newest first.",
    access: { kind: "staff" },
    query: closed({
      ...pageQuery,
      ...sorting.query,
      account_id: Type.Optional(uuid("Only records of this account.")),
      action: Type.Optional(text(64, { pattern: "^[a-z_.]+$", description: "Only records of this action." })),
    }),
    replies: { 200: { description: "A page.", body: pageOf(auditRecordSchema, "AdminAuditPage") } },
  },
  async (ctx, { query }) => {
    const filters = [query.account_id ?? null, query.action ?? null];
    const binding = { operation: "admin.list_audit", filters, sorting };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read({ kind: "staff" }, (tx) => listAuditRecords(tx, query, page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, auditShape) };
  },
);

function auditShape(row: AuditRow): Static<typeof auditRecordSchema> {
  return {
    id: row.id,
    chain: row.chain,
    seq: row.seq,
    occurred_at: row.occurred_at.toISOString(),
    action: row.action,
    actor: row.actor as Static<typeof auditRecordSchema>["actor"],
    targets: row.targets as Static<typeof auditRecordSchema>["targets"],
    context: row.context as Static<typeof auditRecordSchema>["context"],
    outcome: row.outcome,
    metadata: row.metadata as Record<string, unknown>,
  };
}
