/** `GET /v1/admin/restores`: the restores of all accounts, for staff. No path and no name of a file is shown. */

import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, nullable, oneOf, type Static, Type, timestamp, uuid } from "../../kernel/http/schema.ts";
import { failureCodes, statuses, targetKinds } from "../../restores/index.ts";
import { byteCount } from "../../vaults/index.ts";
import { type ListedRestore, listAllRestores } from "../restore-store.ts";

const operation = "admin.list_restores";

const restoreSchema = closed(
  {
    id: uuid("Id of the restore."),
    account_id: uuid("The account."),
    vault_id: uuid("The vault."),
    snapshot_id: uuid("The snapshot."),
    target: oneOf(targetKinds, "Where the files go."),
    status: oneOf(statuses, "How far it is."),
    failure: nullable(oneOf(failureCodes, "Why it ended without its files.")),
    bytes_total: byteCount("Bytes of the files that were asked for."),
    bytes_restored: byteCount("Bytes of the files that were read so far."),
    files_total: byteCount("Files that were asked for."),
    files_restored: byteCount("Files that were read so far."),
    warning_count: byteCount("Files and directories that could not be read whole."),
    created_at: timestamp("When it was accepted."),
    completed_at: nullable(timestamp("When it was completed, failed or was canceled.")),
    expires_at: nullable(timestamp("Until when it can be downloaded.")),
  },
  { title: "AdminRestore" },
);

export const listAdminRestores = endpoint(
  {
    id: operation,
    method: "GET",
    path: "/v1/admin/restores",
    tag: "admin",
    summary: "List the restores of all accounts",
    description: "Newest first. Paths are not shown.",
    access: { kind: "staff" },
    query: closed({
      ...pageQuery,
      ...newestFirst.query,
      account_id: Type.Optional(uuid("Only restores of this account.")),
      status: Type.Optional(oneOf(statuses, "Only restores in this state.")),
      failure: Type.Optional(oneOf(failureCodes, "Only restores with this failure.")),
    }),
    replies: { 200: { description: "A page.", body: pageOf(restoreSchema, "AdminRestorePage") } },
  },
  async (ctx, { query }) => {
    const { account_id: accountId, status, failure } = query;
    const binding = { operation, filters: [accountId ?? null, status ?? null, failure ?? null], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read({ kind: "staff" }, (tx) => listAllRestores(tx, { accountId, status, failure }, page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, showRow) };
  },
);

function showRow(row: ListedRestore): Static<typeof restoreSchema> {
  const { target_kind: target, state: status, failure_code: failure, ended_at: endedAt, ...shown } = row;
  return {
    ...shown,
    ...{ target, status, failure, created_at: row.created_at.toISOString() },
    completed_at: endedAt?.toISOString() ?? null,
    expires_at: row.expires_at?.toISOString() ?? null,
  };
}
