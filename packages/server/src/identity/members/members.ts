/** Shared by the operations on members: who may change whom. */

import { lockOwners, lockPerson, type PersonRow } from "../../accounts/index.ts";
import { memberRoles } from "../../declarations.ts";
import { closed, uuid } from "../../kernel/http/schema.ts";
import type { MemberRole, Principal } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import type { Tx } from "../../kernel/tx.ts";

export const memberId = closed({ id: uuid("Id of the member.") });
export const reads = { kind: "account", scope: "account:read" } as const;
export const writes = { kind: "account", scope: "account:write" } as const;

/** Owners are locked first and in one order, so that two who remove each other do not both succeed. */
export async function lockAmongOwners(tx: Tx, accountId: string, id: string) {
  const owners = await lockOwners(tx, accountId);
  const person = await requirePerson(lockPerson(tx, accountId, id));
  const isLastOwner = owners.length === 1 && owners[0]?.id === id;
  return { person, isLastOwner };
}

export async function requirePerson(found: Promise<PersonRow | undefined>): Promise<PersonRow> {
  const row = await found;
  if (row === undefined || row.state === "removed") throw new Problem("not_found");
  return row;
}

/** Whether the second role is the narrower one. */
export function isDemotion(from: MemberRole | "staff", to: MemberRole): boolean {
  return from !== "staff" && memberRoles.indexOf(from) < memberRoles.indexOf(to);
}

/** Only an owner may change an owner or make one. */
export function requireRank(
  principal: Extract<Principal, { kind: "member" }>,
  ...roles: readonly (MemberRole | "staff")[]
): void {
  if (principal.role !== "owner" && roles.includes("owner")) throw new Problem("insufficient_role");
}
