/** `GET /v1/audit/events`: the audit trail of an account, page by page. */

import { pageOf, pageQuery, sortable } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { identitiesOf } from "../exports.ts";
import { listRecords } from "../record-store.ts";
import { auditRecordSchema, recordQuery, recordShape } from "../shapes.ts";

const sorting = sortable("-occurred_at", "occurred_at");
const operation = "audit.list_events";

export const listEvents = endpoint(
  {
    id: operation,
    method: "GET",
    path: "/v1/audit/events",
    tag: "audit",
    summary: "List audit records",
    description:
      "What was done in the account, by whom, to what; newest first. Each record has the hash of the one before it.",
    access: { kind: "account", scope: "audit:read" },
    query: closed({ ...pageQuery, ...sorting.query, ...recordQuery }),
    replies: { 200: { description: "A page of records.", body: pageOf(auditRecordSchema, "AuditPage") } },
  },
  async (ctx, { principal, query }) => {
    const { limit: _limit, cursor: _cursor, sort: _sort, ...filter } = query;
    const { accountId } = principal;
    const binding = { operation, filters: [accountId, filter], sorting };
    const page = ctx.cursors.start(query, binding);
    const [rows, identities] = await Promise.all([
      ctx.read(rowAccessOf(principal), (tx) => listRecords(tx, accountId, [filter], page)),
      identitiesOf(ctx, ctx.tx, accountId),
    ]);
    const show = (row: (typeof rows)[number]) => recordShape(row, identities.nameOf(row.actor_id));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, show) };
  },
);
