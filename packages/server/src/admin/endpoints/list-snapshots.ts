/** `GET /v1/admin/snapshots`: the snapshots of all accounts, for staff. Nothing that customers wrote is shown. */

import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, nullable, oneOf, type Static, Type, timestamp, uuid } from "../../kernel/http/schema.ts";
import { failureCodes, statuses, triggers } from "../../snapshots/index.ts";
import { byteCount } from "../../vaults/index.ts";
import { type ListedSnapshot, listAllSnapshots, type SnapshotFilter } from "../store.ts";

const writerKinds = ["client", "agent", "member"] as const;

const snapshotSchema = closed(
  {
    id: uuid("Id of the snapshot."),
    account_id: uuid("The account."),
    vault_id: uuid("The vault."),
    source_id: uuid("The source."),
    status: oneOf(statuses, "How far it is."),
    trigger: oneOf(triggers, "What started the backup."),
    failure: nullable(
      oneOf(failureCodes, "Why it has no content. `verification_failed`: its content is not what its writer said."),
    ),
    writer: closed({
      kind: oneOf(writerKinds, "What made it."),
      id: uuid("The OAuth client, the grant of the agent, or the member."),
      agent_id: nullable(uuid("The agent that uploaded it.")),
    }),
    size_bytes: nullable(byteCount("Bytes of its files; null until it is completed.")),
    stored_bytes: byteCount("What it added to storage."),
    file_count: nullable(byteCount("Number of its files; null until it is completed.")),
    warning_count: nullable(
      byteCount("Files that are not in it as they should be, and name twins; null until it is completed."),
    ),
    verified_at: nullable(timestamp("When all of it was read back and compared.")),
    created_at: timestamp("When it was created."),
    completed_at: nullable(timestamp("When it was completed.")),
  },
  { title: "AdminSnapshot" },
);

export const listAdminSnapshots = endpoint(
  {
    id: "admin.list_snapshots",
    method: "GET",
    path: "/v1/admin/snapshots",
    tag: "admin",
    summary: "List the snapshots of all accounts",
    description:
      "Newest first, without deleted ones. Names of files and sources, labels and metadata are not shown. With `failure=verification_failed`: the snapshots whose stored content is not what their writer said.",
    access: { kind: "staff" },
    query: closed({
      ...pageQuery,
      ...newestFirst.query,
      account_id: Type.Optional(uuid("Only snapshots of this account.")),
      status: Type.Optional(oneOf(statuses, "Only snapshots in this state.")),
      failure: Type.Optional(oneOf(failureCodes, "Only snapshots with this failure.")),
      writer_id: Type.Optional(uuid("Only snapshots of this client, agent or member.")),
    }),
    replies: { 200: { description: "A page.", body: pageOf(snapshotSchema, "AdminSnapshotPage") } },
  },
  async (ctx, { query }) => {
    const { account_id, status, failure, writer_id } = query;
    const filters = [account_id ?? null, status ?? null, failure ?? null, writer_id ?? null];
    const binding = { operation: "admin.list_snapshots", filters, sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const filter: SnapshotFilter = {
      ...(account_id && { account_id }),
      ...(status && { status }),
      ...(failure && { failure }),
      ...(writer_id && { writer_id }),
    };
    const rows = await ctx.read({ kind: "staff" }, (tx) => listAllSnapshots(tx, filter, page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, showRow) };
  },
);

function showRow(row: ListedSnapshot): Static<typeof snapshotSchema> {
  if (row.state === "deleted") throw new Error("a deleted snapshot was listed");
  return {
    id: row.id,
    account_id: row.account_id,
    vault_id: row.vault_id,
    source_id: row.source_id,
    status: row.state,
    trigger: row.trigger,
    failure: row.failure_code ?? (row.verification_failed_at === null ? null : "verification_failed"),
    writer: { kind: row.created_by_kind, id: row.created_by_id, agent_id: row.agent_id },
    size_bytes: row.size_bytes,
    stored_bytes: row.stored_bytes,
    file_count: row.file_count,
    warning_count: row.warning_count,
    verified_at: row.verified_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    completed_at: row.completed_at?.toISOString() ?? null,
  };
}
