/** The SQL of the export of an account: the rows of each kind, in the order of their ids. Secrets and hashes of secrets are in no list. */

import { sql } from "kysely";
import type { ReadTx } from "../kernel/tx.ts";

interface ExportedTable {
  readonly table: string;
  readonly columns: readonly string[];
  /** Rows that are not the account's any more; a condition over `t`. */
  readonly without?: string;
}

const policyColumns = [
  ...["keep_last", "keep_hourly", "keep_daily", "keep_weekly", "keep_monthly", "keep_yearly", "keep_within_days"],
  ...["floor_days", "ceiling_days"],
];

/** By the type of their lines, in the order of the export. */
export const exportedTables = {
  account: {
    table: "accounts",
    columns: ["id", "kind", "name", "tax_id", "package", "state", "erase_after", "language", "created_at"],
  },
  member: {
    table: "people",
    columns: ["id", "role", "state", "email", "full_name", "phone", "language", "created_at"],
  },
  oauth_client: {
    table: "oauth_clients",
    columns: ["id", "name", "scopes", "role", "vault_ids", "grant_types", "created_at", "last_used_at", "revoked_at"],
  },
  vault: {
    table: "vaults",
    columns: ["id", "name", "kind", "taxpayer_id", "quota_bytes", "quota_warning_bytes", "stored_bytes", "created_at"],
    without: "t.deleted_at is not null",
  },
  taxpayer: {
    table: "taxpayers",
    columns: ["id", "name", "tax_id", "state", "vault_id", "created_at"],
    without: "t.deleted_at is not null",
  },
  source: {
    table: "sources",
    columns: ["id", "name", "kind", "vault_id", "expected_every_s", "last_good_at", "created_at"],
    without: "t.deleted_at is not null",
  },
  retention_policy: { table: "retention_policies", columns: ["vault_id", "source_id", ...policyColumns] },
  agent: {
    table: "agents",
    columns: ["id", "name", "host", "os", "software_version", "roots", "created_at", "last_seen_at", "revoked_at"],
  },
  webhook: {
    table: "webhooks",
    columns: ["id", "url", "events", "description", "vault_ids", "state", "created_at"],
    without: "t.removed_at is not null",
  },
  snapshot: {
    table: "snapshots",
    columns: [
      ...["id", "vault_id", "source_id", "state", "label", "trigger", "external_reference", "metadata", "size_bytes"],
      ...["stored_bytes", "file_count", "warning_count", "root_hash", "verified_at", "locked_until", "legal_hold"],
      ...["hold_reason", "created_at", "completed_at"],
    ],
    without: "t.state = 'deleted'",
  },
} as const satisfies Readonly<Record<string, ExportedTable>>;

export type ExportedType = keyof typeof exportedTables;
export const exportedTypes = Object.keys(exportedTables) as readonly ExportedType[];

/** Rows of one query: some 500 KB of text. */
const rowsPerRead = 1_000;

/** All rows of a type, some of them at a time. A policy has no id of its own: its place orders it. */
export async function* exportedRows(
  read: <T>(work: (tx: ReadTx) => Promise<T>) => Promise<T>,
  accountId: string,
  type: ExportedType,
): AsyncGenerator<readonly Readonly<Record<string, unknown>>[]> {
  const { table, columns, without = "false" }: ExportedTable = exportedTables[type];
  const owner = sql.ref(type === "account" ? "t.id" : "t.account_id");
  const place =
    type === "retention_policy" ? "t.vault_id::text || ' ' || coalesce(t.source_id::text, '')" : "t.id::text";
  const list = sql.join(columns.map((column) => sql.ref(`t.${column}`)));
  let after = "";
  for (;;) {
    const { rows } = await read((tx) =>
      sql<Readonly<Record<string, unknown>> & { place: string }>`
        select ${list}, ${sql.raw(place)} as place from ${sql.table(table)} t
        where ${owner} = ${accountId} and not (${sql.raw(without)}) and ${sql.raw(place)} > ${after}
        order by ${sql.raw(place)} limit ${rowsPerRead}`.execute(tx.db),
    );
    yield rows.map(({ place: _, ...row }) => row);
    after = rows.at(-1)?.place ?? "";
    if (rows.length < rowsPerRead) return;
  }
}
