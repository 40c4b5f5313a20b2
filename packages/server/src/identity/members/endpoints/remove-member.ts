/** `DELETE /v1/members/{id}`: removes a member from the account. */

import { mailAboutChange, memberShape, updatePerson } from "../../../accounts/index.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { actorOf, rowAccessOf } from "../../../kernel/principal.ts";
import { Problem } from "../../../kernel/problems.ts";
import { endLinks } from "../../enrolment/index.ts";
import { endAccessOf, forgetDevices } from "../../sessions/index.ts";
import { lockAmongOwners, memberId, requireRank, writes } from "../members.ts";

export const removeMember = endpoint(
  {
    id: "members.remove",
    method: "DELETE",
    path: "/v1/members/{id}",
    tag: "members",
    summary: "Remove a member",
    description:
      "Ends all sign-ins of the member at once. Their clients and grants can only write snapshots until an owner reviews them. Only owners can remove owners, and the last owner cannot be removed. This also works while the account is suspended.",
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
    await ctx.tx(rowAccessOf(principal), async (tx) => {
      const { person, isLastOwner } = await lockAmongOwners(tx, accountId, params.id);
      requireMatch(memberShape(person));
      requireRank(principal, person.role);
      if (isLastOwner) throw new Problem("state_conflict");
      const change = { accountId, of: { person: person.id }, by: actorOf(principal) };
      await mailAboutChange(tx, ctx, { what: "member_removed", ...change });
      await updatePerson(tx, accountId, person.id, { state: "removed" });
      await endAccessOf(tx, ctx, person, "removed");
      await forgetDevices(tx, person.id);
      for (const purpose of ["enrolment", "password_reset", "second_factor_reset"] as const) {
        await endLinks(tx, person.id, purpose);
      }
      tx.audit({ action: "member.removed", targets: [{ type: "person", id: person.id }] });
    });
    return { status: 204 };
  },
);
