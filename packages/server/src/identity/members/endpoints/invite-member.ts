/** `POST /v1/members`: invites a person into the account. */

import {
  emailSchema,
  findPerson,
  insertPerson,
  mailAboutChange,
  memberSchema,
  memberShape,
  oneLinePattern,
  roleSchema,
} from "../../../accounts/index.ts";
import { foldEmail } from "../../../identifiers/index.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, text } from "../../../kernel/http/schema.ts";
import { actorOf, rowAccessOf } from "../../../kernel/principal.ts";
import { Problem } from "../../../kernel/problems.ts";
import { countInvitation, sendEnrolment } from "../../enrolment/index.ts";
import { requirePerson, requireRank, writes } from "../members.ts";

export const inviteMember = endpoint(
  {
    id: "members.invite",
    method: "POST",
    path: "/v1/members",
    tag: "members",
    summary: "Invite a member",
    description:
      "Mails an enrolment link that works once, for a week. Only owners can invite owners. 409 when the account already has the address, invited or active. Other accounts can invite the same address: it belongs to the person who enrols it first. At most 20 invitation mails a day per account.",
    access: writes,
    stepUp: true,
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
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const id = ctx.random.uuid();
      const emailKey = foldEmail(body.email);
      const person = { id, accountId, role: body.role, state: "invited", email: body.email, emailKey } as const;
      const rest = { fullName: body.full_name, phone: null, language, invitedBy: principal.memberId };
      if (!(await insertPerson(tx, { ...person, ...rest }))) throw new Problem("state_conflict");
      await countInvitation(tx, ctx, { accountId, emailKey, again: false });
      const made = await requirePerson(findPerson(tx, accountId, id));
      await sendEnrolment(tx, ctx, made);
      tx.audit({ action: "member.invited", targets: [{ type: "person", id }], metadata: { role: body.role } });
      const change = { accountId, of: { person: id }, by: actorOf(principal), detail: body.role } as const;
      await mailAboutChange(tx, ctx, { what: "member_invited", ...change, personHasMail: true });
      return made;
    });
    return { status: 201, body: memberShape(row) };
  },
);
