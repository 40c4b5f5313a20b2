/** `PATCH /v1/members/{id}`: another role. */

import {
  findPerson,
  mailAboutChange,
  memberSchema,
  memberShape,
  roleSchema,
  updatePerson,
} from "../../../accounts/index.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed } from "../../../kernel/http/schema.ts";
import { actorOf, rowAccessOf } from "../../../kernel/principal.ts";
import { Problem } from "../../../kernel/problems.ts";
import { withholdPrograms } from "../../sessions/index.ts";
import { isDemotion, lockAmongOwners, memberId, requirePerson, requireRank, writes } from "../members.ts";

export const updateMember = endpoint(
  {
    id: "members.update",
    method: "PATCH",
    path: "/v1/members/{id}",
    tag: "members",
    summary: "Change a member's role",
    description:
      "Applies from the member's next request on. Only owners can make or change owners, and the last owner cannot be changed. If the new role is narrower, the member's programs can only write snapshots until an owner reviews them.",
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
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const before = await lockAmongOwners(tx, accountId, params.id);
      requireMatch(memberShape(before.person));
      requireRank(principal, body.role, before.person.role);
      if (before.isLastOwner && body.role !== "owner") throw new Problem("state_conflict");
      await updatePerson(tx, accountId, params.id, { role: body.role });
      if (isDemotion(before.person.role, body.role)) await withholdPrograms(tx, ctx, before.person, "demoted");
      const metadata = { from: before.person.role, to: body.role };
      tx.audit({ action: "member.role_changed", targets: [{ type: "person", id: params.id }], metadata });
      const change = { accountId, of: { person: params.id }, by: actorOf(principal), detail: body.role };
      await mailAboutChange(tx, ctx, { what: "role_changed", ...change });
      return requirePerson(findPerson(tx, accountId, params.id));
    });
    return { status: 200, body: memberShape(row) };
  },
);
