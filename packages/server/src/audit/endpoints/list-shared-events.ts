/** `GET /v1/audit/shared/events`: the records of a share, page by page. */

import { pageOf, pageQuery, sortable } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { maskOf } from "../masking.ts";
import { listRecords } from "../record-store.ts";
import { openFilters, sharedRecordSchema, sharedRecordShape } from "../shapes.ts";
import { identitiesFor } from "../shared-exports.ts";
import { filterOf, readerOf, recordRead, requireShare } from "../shares.ts";

const sorting = sortable("-occurred_at", "occurred_at");
const operation = "audit_shared.list_events";

export const listSharedEvents = endpoint(
  {
    id: operation,
    method: "GET",
    path: "/v1/audit/shared/events",
    tag: "audit",
    summary: "List shared audit records",
    description: [
      "For an auditor with a share: its records, newest first. Parameters choose among them and never add to them. `masked` says that parts",
      "of a record are not shown. Each page that is read is a record of the account's audit trail.",
    ].join(" "),
    access: { kind: "share" },
    contentLimits: ["audit_shared_events"],
    query: closed({ ...pageQuery, ...sorting.query, ...openFilters }),
    replies: { 200: { description: "A page of records.", body: pageOf(sharedRecordSchema, "SharedAuditPage") } },
  },
  async (ctx, { shareToken, query }) => {
    const share = await requireShare(ctx, shareToken);
    await ctx.spend(["audit_shared_events"], { shareId: share.id });
    const { limit: _limit, cursor: _cursor, sort: _sort, ...filter } = query;
    const binding = { operation, filters: [share.id, filter], sorting };
    const page = ctx.cursors.start(query, binding);
    await recordRead(ctx, share, { action: "audit.shared_read" });
    const rows = await readerOf(ctx, share)((tx) => listRecords(tx, share.account_id, [filterOf(share), filter], page));
    const identities = await identitiesFor(ctx, share);
    const mask = maskOf(ctx.secrets, share);
    const show = (row: (typeof rows)[number]) => sharedRecordShape(row, identities.nameOf(row.actor_id), mask);
    return { status: 200, body: ctx.cursors.page(rows, query, binding, show) };
  },
);
