/** All SQL of applications. Runs with row access `platform`. */

import { type Selectable, sql } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { ApplicationsRow } from "../kernel/database/rows.generated.ts";
import type { Language } from "../kernel/problems.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";
import type { CheckedApplication } from "./rules.ts";

export type ApplicationRow = Selectable<ApplicationsRow>;

/** Stores a new application with a reference to the newest earlier one with the same e-mail. */
export async function insertApplication(
  tx: Tx,
  id: string,
  application: CheckedApplication,
  language: Language,
): Promise<void> {
  const earlier = tx.db
    .selectFrom("applications")
    .select("id")
    .where("email_key", "=", application.emailKey)
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(1);
  await tx.db
    .insertInto("applications")
    .values({
      id,
      status: "submitted",
      kind: application.kind,
      full_name: application.full_name,
      email: application.email,
      email_key: application.emailKey,
      phone: application.phone,
      company_name: application.company_name,
      tax_id: application.tax_id,
      package: application.package,
      note: application.note ?? null,
      consents: JSON.stringify(application.consents),
      language,
      duplicate_of: earlier,
      created_at: tx.now,
      updated_at: tx.now,
    })
    .execute();
}

export async function findApplication(tx: ReadTx, id: string): Promise<ApplicationRow | undefined> {
  return tx.db.selectFrom("applications").selectAll().where("id", "=", id).executeTakeFirst();
}

/** A page; row access `staff`. */
export async function listApplications(
  tx: ReadTx,
  filter: { readonly status?: ApplicationRow["status"] },
  page: PageStart,
): Promise<ApplicationRow[]> {
  let select = tx.db.selectFrom("applications").selectAll();
  if (filter.status !== undefined) select = select.where("status", "=", filter.status);
  return pageRows(select, page);
}

export async function countApplicationsByStatus(tx: ReadTx): Promise<Readonly<Record<string, number>>> {
  const rows = await tx.db
    .selectFrom("applications")
    .select(["status", (call) => call.fn.countAll<number>().as("count")])
    .groupBy("status")
    .execute();
  return Object.fromEntries(rows.map(({ status, count }) => [status, Number(count)]));
}

/** Moves an application from one of these states to another; undefined when it has none of them. */
export async function moveApplication(
  tx: Tx,
  id: string,
  move: {
    readonly from: readonly ApplicationRow["status"][];
    readonly to: ApplicationRow["status"];
    readonly by: string | null;
    readonly reason: string | null;
  },
): Promise<ApplicationRow | undefined> {
  const decided = move.to === "approved" || move.to === "rejected";
  return tx.db
    .updateTable("applications")
    .set({
      status: move.to,
      updated_at: tx.now,
      version: sql`version + 1`,
      ...(decided && { decided_at: tx.now, decided_by: move.by, decision_reason: move.reason }),
    })
    .where("id", "=", id)
    .where("status", "in", [...move.from])
    .returningAll()
    .executeTakeFirst();
}
