/** All SQL of the identities of people in chains. */

import { type Selectable, sql } from "kysely";
import type { AuditIdentitiesRow } from "../kernel/database/rows.generated.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";

type IdentityRow = Selectable<AuditIdentitiesRow>;

export type SealedIdentity = Pick<IdentityRow, "sealed_key" | "sealed_identity">;

export interface PersonWithIdentity extends SealedIdentity {
  readonly id: string;
  readonly full_name: string;
  readonly email: string;
  readonly erased_at: Date | null;
}

/** All people of an account, removed ones included, with what is stored of them. */
export async function peopleWithIdentities(tx: ReadTx, accountId: string): Promise<readonly PersonWithIdentity[]> {
  const { rows } = await sql<PersonWithIdentity>`
    select p.id, p.full_name, p.email, i.sealed_key, i.sealed_identity, i.erased_at
      from people p left join audit_identities i on i.person_id = p.id
      where p.account_id = ${accountId} order by p.id`.execute(tx.db);
  return rows;
}

/** Deletes what is kept of a person, for good: nothing is stored of them again. False when it was deleted before. */
export async function eraseIdentity(tx: Tx, personId: string, accountId: string): Promise<boolean> {
  const erased = { sealed_key: null, sealed_identity: null, changed_at: tx.now, erased_at: tx.now };
  const { numInsertedOrUpdatedRows } = await tx.db
    .insertInto("audit_identities")
    .values({ person_id: personId, account_id: accountId, ...erased })
    .onConflict((on) => on.column("person_id").doUpdateSet(erased).where("audit_identities.erased_at", "is", null))
    .executeTakeFirst();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}

export async function upsertIdentity(tx: Tx, row: Omit<IdentityRow, "erased_at">): Promise<void> {
  const { sealed_key, sealed_identity, changed_at } = row;
  await tx.db
    .insertInto("audit_identities")
    .values({ ...row, erased_at: null })
    .onConflict((on) =>
      on
        .column("person_id")
        .doUpdateSet({ sealed_key, sealed_identity, changed_at })
        // What was erased at the same moment stays erased.
        .where("audit_identities.erased_at", "is", null),
    )
    .execute();
}
