/** `/v1/members`: the people of an account. */

import {
  emailSchema,
  findPerson,
  insertPerson,
  listMembers,
  lockOwners,
  lockPerson,
  memberSchema,
  memberShape,
  oneLinePattern,
  type PersonRow,
  roleSchema,
  updatePerson,
} from "../../accounts/index.ts";
import { foldEmail } from "../../identifiers/index.ts";
import { pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, text, uuid } from "../../kernel/http/schema.ts";
import { type MemberRole, type Principal, scopeOf } from "../../kernel/principal.ts";
import { Problem } from "../../kernel/problems.ts";
import type { Tx } from "../../kernel/tx.ts";
import { forgetDevices } from "../credentials.ts";
import { sendEnrolment } from "../enrolment.ts";
import { endLinks } from "../links.ts";
import { revokeSessionsOf } from "../sessions.ts";

const memberId = closed({ id: uuid("Id of the member.") });
const reads = { kind: "account", scope: "account:read" } as const;
const writes = { kind: "account", scope: "account:write" } as const;

export const listAccountMembers = endpoint(
  {
    id: "members.list",
    method: "GET",
    path: "/v1/members",
    tag: "members",
    summary: "List the members",
    description: "Oldest first; removed ones are left out.",
    access: reads,
    query: closed({ ...pageQuery }),
    replies: { 200: { description: "A page.", body: pageOf(memberSchema, "MemberPage") } },
  },
  async (ctx, { principal, query }) => {
    const binding = { operation: "members.list", filters: [principal.accountId] };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.tx(scopeOf(principal), (tx) => listMembers(tx, principal.accountId, page));
    const position = (row: PersonRow) => ({ key: row.created_at.toISOString(), id: row.id });
    return { status: 200, body: ctx.cursors.page(rows, query, binding, { position, item: memberShape }) };
  },
);

export const getMember = endpoint(
  {
    id: "members.get",
    method: "GET",
    path: "/v1/members/{id}",
    tag: "members",
    summary: "Read a member",
    description: "One member of the account.",
    access: reads,
    params: memberId,
    replies: { 200: { description: "The member.", body: memberSchema } },
  },
  async (ctx, { principal, params }) => {
    const row = await ctx.tx(scopeOf(principal), (tx) => findPerson(tx, principal.accountId, params.id));
    if (row === undefined || row.state === "removed") throw new Problem("not_found");
    return { status: 200, body: memberShape(row) };
  },
);

export const inviteMember = endpoint(
  {
    id: "members.invite",
    method: "POST",
    path: "/v1/members",
    tag: "members",
    summary: "Invite a member",
    description:
      "Mails an enrolment link, good once and for a week. Only owners invite owners. 409 when the address already signs in here. Inviting again somebody who has not enrolled sends a new link.",
    access: writes,
    body: closed(
      {
        email: emailSchema,
        full_name: text(200, { pattern: oneLinePattern, description: "Name." }),
        role: roleSchema,
      },
      { title: "Invitation" },
    ),
    replies: { 201: { description: "Invited.", body: memberSchema } },
    errors: ["state_conflict", "insufficient_role"],
  },
  async (ctx, { principal, body, language }) => {
    requireRank(principal, body.role);
    const { accountId } = principal;
    const row = await ctx.tx(scopeOf(principal), async (tx) => {
      const id = ctx.random.uuid();
      const emailKey = foldEmail(body.email);
      const person = { id, accountId, role: body.role, state: "invited", email: body.email, emailKey } as const;
      const rest = { fullName: body.full_name, phone: null, language, invitedBy: inviterOf(principal) };
      if (!(await insertPerson(tx, { ...person, ...rest }))) throw new Problem("state_conflict");
      const made = await requirePerson(findPerson(tx, accountId, id));
      await sendEnrolment(tx, ctx, made);
      tx.audit({ action: "member.invited", targets: [{ type: "person", id }], metadata: { role: body.role } });
      return made;
    });
    return { status: 201, body: memberShape(row) };
  },
);

export const resendInvitation = endpoint(
  {
    id: "members.resend_invitation",
    method: "POST",
    path: "/v1/members/{id}/resend-invitation",
    tag: "members",
    summary: "Send an enrolment link again",
    description: "For a member who has not enrolled yet; the link of the earlier mail ends.",
    access: writes,
    params: memberId,
    replies: { 200: { description: "Sent.", body: memberSchema } },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params }) => {
    const { accountId } = principal;
    const row = await ctx.tx(scopeOf(principal), async (tx) => {
      const person = await requirePerson(lockPerson(tx, accountId, params.id));
      if (person.state !== "invited") throw new Problem("state_conflict");
      await sendEnrolment(tx, ctx, person);
      tx.audit({ action: "member.invited", targets: [{ type: "person", id: person.id }], metadata: { again: true } });
      return person;
    });
    return { status: 200, body: memberShape(row) };
  },
);

export const changeMember = endpoint(
  {
    id: "members.update",
    method: "PATCH",
    path: "/v1/members/{id}",
    tag: "members",
    summary: "Change a member's role",
    description: "Counts from the member's next request on. Only owners make or change owners; the last one stays.",
    access: writes,
    stepUp: true,
    params: memberId,
    body: closed({ role: roleSchema }, { title: "MemberChange" }),
    ifMatch: "optional",
    replies: { 200: { description: "The member.", body: memberSchema } },
    errors: ["state_conflict", "insufficient_role"],
  },
  async (ctx, { principal, params, body, requireMatch }) => {
    const { accountId } = principal;
    const row = await ctx.tx(scopeOf(principal), async (tx) => {
      const before = await lockAmongOwners(tx, accountId, params.id);
      requireMatch(memberShape(before.person));
      requireRank(principal, body.role, before.person.role);
      if (before.isLastOwner && body.role !== "owner") throw new Problem("state_conflict");
      await updatePerson(tx, accountId, params.id, { role: body.role });
      const metadata = { from: before.person.role, to: body.role };
      tx.audit({ action: "member.role_changed", targets: [{ type: "person", id: params.id }], metadata });
      return requirePerson(findPerson(tx, accountId, params.id));
    });
    return { status: 200, body: memberShape(row) };
  },
);

export const removeMember = endpoint(
  {
    id: "members.remove",
    method: "DELETE",
    path: "/v1/members/{id}",
    tag: "members",
    summary: "Remove a member",
    description:
      "Ends all their sessions at once. Only owners remove owners; the last one cannot be removed. Also while the account is suspended.",
    access: writes,
    stepUp: true,
    whileSuspended: true,
    params: memberId,
    ifMatch: "optional",
    replies: { 204: { description: "Removed.", empty: true } },
    errors: ["state_conflict", "insufficient_role"],
  },
  async (ctx, { principal, params, requireMatch }) => {
    const { accountId } = principal;
    await ctx.tx(scopeOf(principal), async (tx) => {
      const { person, isLastOwner } = await lockAmongOwners(tx, accountId, params.id);
      requireMatch(memberShape(person));
      requireRank(principal, person.role);
      if (isLastOwner) throw new Problem("state_conflict");
      await updatePerson(tx, accountId, person.id, { state: "removed" });
      await revokeSessionsOf(tx, person.id, "removed");
      await forgetDevices(tx, person.id);
      for (const purpose of ["enrolment", "password_reset", "second_factor_reset"] as const) {
        await endLinks(tx, person.id, purpose);
      }
      tx.audit({ action: "member.removed", targets: [{ type: "person", id: person.id }] });
    });
    return { status: 204 };
  },
);

/** Owners are locked first and in one order, so that two who remove each other do not both succeed. */
async function lockAmongOwners(tx: Tx, accountId: string, id: string) {
  const owners = await lockOwners(tx, accountId);
  const person = await requirePerson(lockPerson(tx, accountId, id));
  const isLastOwner = owners.length === 1 && owners[0]?.id === id;
  return { person, isLastOwner };
}

async function requirePerson(found: Promise<PersonRow | undefined>): Promise<PersonRow> {
  const row = await found;
  if (row === undefined || row.state === "removed") throw new Problem("not_found");
  return row;
}

/** What concerns an owner is an owner's; machines count as managers. */
function requireRank(principal: Principal, ...roles: readonly (MemberRole | "staff")[]): void {
  const isOwner = principal.kind === "member" && principal.role === "owner";
  if (!isOwner && roles.includes("owner")) throw new Problem("insufficient_role");
}

function inviterOf(principal: Principal): string | null {
  return principal.kind === "member" ? principal.memberId : null;
}
