/** `POST /v1/members/{id}/resend-invitation`: the mail was lost, or its link is over. */

import { lockPerson, memberSchema, memberShape } from "../../../accounts/index.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../../kernel/principal.ts";
import { Problem } from "../../../kernel/problems.ts";
import { countInvitation, sendEnrolment } from "../../enrolment/index.ts";
import { memberId, requirePerson, writes } from "../members.ts";

export const resendInvitation = endpoint(
  {
    id: "members.resend_invitation",
    method: "POST",
    path: "/v1/members/{id}/resend-invitation",
    tag: "members",
    summary: "Send an enrolment link again",
    description:
      "For a member who has not enrolled yet. The link in the earlier mail stops working. Once an hour per address; it counts towards the account's 20 mails a day.",
    access: writes,
    stepUp: true,
    params: memberId,
    replies: { 200: { description: "Sent.", body: memberSchema } },
    errors: ["state_conflict"],
  },
  async (ctx, { principal, params }) => {
    const { accountId } = principal;
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const person = await requirePerson(lockPerson(tx, accountId, params.id));
      if (person.state !== "invited") throw new Problem("state_conflict");
      await countInvitation(tx, ctx, { accountId, emailKey: person.email_key, again: true });
      await sendEnrolment(tx, ctx, person);
      tx.audit({ action: "member.invited", targets: [{ type: "person", id: person.id }], metadata: { again: true } });
      return person;
    });
    return { status: 200, body: memberShape(row) };
  },
);
