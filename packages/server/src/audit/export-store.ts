/** All SQL of exports, which are kept for a day. */

import type { Selectable } from "kysely";
import type { AuditExportsRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";

export type ExportRow = Selectable<AuditExportsRow>;

export async function insertExport(tx: Tx, row: ExportRow): Promise<void> {
  await tx.db.insertInto("audit_exports").values(row).execute();
}

/** One that has not expired. Row access hides those of other accounts. */
export async function findExport(tx: ReadTx, id: string): Promise<ExportRow | undefined> {
  return tx.db
    .selectFrom("audit_exports")
    .selectAll()
    .where("id", "=", id)
    .where("expires_at", ">", tx.now)
    .executeTakeFirst();
}

export async function updateExport(
  tx: Tx,
  id: string,
  change: Partial<Pick<ExportRow, "identities" | "statement" | "size_bytes" | "gzip_bytes">>,
): Promise<void> {
  await tx.db.updateTable("audit_exports").set(change).where("id", "=", id).execute();
}

export async function deleteExpiredExports(tx: Tx): Promise<void> {
  await tx.db.deleteFrom("audit_exports").where("expires_at", "<=", tx.now).execute();
}
