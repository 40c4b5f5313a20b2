/** All SQL of applications. Runs in scope `platform`. */

import type { Language } from "../kernel/problems.ts";
import type { Tx } from "../kernel/tx.ts";
import type { CheckedApplication } from "./rules.ts";

/** Stores a new application; it points at the newest earlier one with the same e-mail. */
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
