/**
 * All SQL of people: members of accounts, and staff. Members are read and changed with row access to their account, staff with
 * row access `platform`. Sign-in uses row access `system`, because the account is not known before.
 */

import { type Selectable, sql } from "kysely";
import { type PageStart, pageRows } from "../kernel/cursors.ts";
import type { PeopleRow } from "../kernel/database/rows.generated.ts";
import type { MemberRole } from "../kernel/principal.ts";
import type { ReadTx, Tx } from "../kernel/tx.ts";

export type PersonRow = Selectable<PeopleRow>;

/** The person who signs in with this address; row access `system`. Invited people do not count: several can have the address. */
export async function findPersonByEmail(tx: ReadTx, emailKey: string): Promise<PersonRow | undefined> {
  return tx.db
    .selectFrom("people")
    .selectAll()
    .where("email_key", "=", emailKey)
    .where("state", "=", "active")
    .executeTakeFirst();
}

/** A member of the account, or a staff member (`null`). */
export async function findPerson(tx: ReadTx, accountId: string | null, id: string): Promise<PersonRow | undefined> {
  return people(tx, accountId).where("id", "=", id).executeTakeFirst();
}

export async function lockPerson(tx: Tx, accountId: string | null, id: string): Promise<PersonRow | undefined> {
  return people(tx, accountId).where("id", "=", id).forUpdate().executeTakeFirst();
}

/** A page of the members who were not removed. */
export async function listMembers(tx: ReadTx, accountId: string, page: PageStart): Promise<PersonRow[]> {
  return pageRows(people(tx, accountId).where("state", "<>", "removed"), page);
}

/** A page of all members of all accounts; row access `staff`. */
export async function listAllMembers(tx: ReadTx, page: PageStart): Promise<PersonRow[]> {
  return pageRows(tx.db.selectFrom("people").selectAll().where("account_id", "is not", null), page);
}

/** The active owners, with row locks: a removal or demotion counts the owners that are left. */
export async function lockOwners(tx: Tx, accountId: string): Promise<PersonRow[]> {
  return people(tx, accountId)
    .where("role", "=", "owner")
    .where("state", "=", "active")
    .orderBy("id")
    .forUpdate()
    .execute();
}

/** The active owners and the given people who are not removed, without locks. For staff (`null`) only the given people. */
export async function listOwnersAnd(
  tx: ReadTx,
  accountId: string | null,
  ids: readonly string[],
): Promise<PersonRow[]> {
  return people(tx, accountId)
    .where("state", "<>", "removed")
    .where(sql<boolean>`(id = any(${[...ids]}::uuid[]) or (role = 'owner' and state = 'active'))`)
    .orderBy("id")
    .execute();
}

export interface NewPerson {
  readonly id: string;
  readonly accountId: string | null;
  readonly role: MemberRole | "staff";
  readonly state: "invited" | "active";
  readonly email: string;
  readonly emailKey: string;
  readonly fullName: string;
  readonly phone: string | null;
  readonly phoneVerified?: boolean;
  readonly language: "tr" | "en";
  readonly invitedBy: string | null;
}

/** Stores a person; false when the account has the address, or when the person is active and the address signs in already. */
export async function insertPerson(tx: Tx, person: NewPerson): Promise<boolean> {
  const result = await tx.db
    .insertInto("people")
    .values({
      id: person.id,
      account_id: person.accountId,
      role: person.role,
      state: person.state,
      email: person.email,
      email_key: person.emailKey,
      full_name: person.fullName,
      phone: person.phone,
      phone_verified_at: person.phoneVerified === true ? tx.now : null,
      language: person.language,
      invited_by: person.invitedBy,
      created_at: tx.now,
      updated_at: tx.now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === 1n;
}

/** Whether a change failed because another person signs in with the address: only the first enrolment succeeds. */
export function isAddressTaken(error: unknown): boolean {
  const { code, constraint } = error as { readonly code?: unknown; readonly constraint?: unknown };
  return code === uniqueViolation && constraint === "people_email_active";
}

/** SQLSTATE. */
const uniqueViolation = "23505";

export interface PersonChange {
  readonly role?: MemberRole;
  readonly state?: "active" | "removed";
  readonly full_name?: string;
  readonly language?: "tr" | "en";
  readonly phone?: string;
  readonly phone_verified_at?: Date;
}

export async function updatePerson(tx: Tx, accountId: string | null, id: string, change: PersonChange): Promise<void> {
  await tx.db
    .updateTable("people")
    .set({ ...change, updated_at: tx.now, version: sql`version + 1` })
    .where(sql<boolean>`account_id is not distinct from ${accountId}`)
    .where("id", "=", id)
    .execute();
}

/** Deletes what says who a person was. The row stays, because others name its id. */
export async function erasePerson(tx: Tx, accountId: string, id: string, name: string): Promise<void> {
  // A name under .invalid belongs to nobody (RFC 2606).
  const email = `${id}@erased.invalid`;
  await tx.db
    .updateTable("people")
    .set({ full_name: name, email, email_key: email, phone: null, phone_verified_at: null })
    .set({ updated_at: tx.now, version: sql`version + 1` })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .execute();
}

function people(tx: ReadTx, accountId: string | null) {
  return tx.db.selectFrom("people").selectAll().where(sql<boolean>`account_id is not distinct from ${accountId}`);
}

/** The account of a person; row access `system`. Null for staff, undefined for an unknown id. */
export async function findAccountOfPerson(tx: ReadTx, id: string): Promise<string | null | undefined> {
  const row = await tx.db.selectFrom("people").select("account_id").where("id", "=", id).executeTakeFirst();
  return row?.account_id;
}
