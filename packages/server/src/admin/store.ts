/** All SQL of what staff see across domains: the audit trail. Runs with row access `staff`. */

import type { Selectable } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { AuditRecordsRow } from "../kernel/database/rows.generated.ts";
import type { Tx } from "../kernel/tx.ts";

export type AuditRow = Selectable<AuditRecordsRow>;

interface AuditFilter {
  readonly account_id?: string;
  readonly action?: string;
}

/** A page of the audit records of all accounts and of the platform. */
export async function listAuditRecords(tx: Tx, filter: AuditFilter, page: PageStart): Promise<AuditRow[]> {
  let select = tx.db.selectFrom("audit_records").selectAll();
  if (filter.account_id !== undefined) select = select.where("account_id", "=", filter.account_id);
  if (filter.action !== undefined) select = select.where("action", "=", filter.action);
  return pageRows(select, page);
}
