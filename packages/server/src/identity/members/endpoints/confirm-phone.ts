/** `POST /v1/me/phone/confirm`: the new phone counts once its code is shown. */

import { mailAboutChange, updatePerson } from "../../../accounts/index.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, uuid } from "../../../kernel/http/schema.ts";
import { actorOf } from "../../../kernel/principal.ts";
import { Problem } from "../../../kernel/problems.ts";
import { sixDigits, spendChallenge } from "../../factors/index.ts";
import { personOf } from "../../sessions/index.ts";

export const confirmPhone = endpoint(
  {
    id: "me.confirm_phone",
    method: "POST",
    path: "/v1/me/phone/confirm",
    tag: "me",
    summary: "Confirm your new phone",
    description: "Needs the code that was sent to the new phone.",
    access: { kind: "person", scope: "account:write" },
    stepUp: true,
    idempotency: "none",
    body: closed(
      { challenge_id: uuid("The `challenge_id` of the request."), code: sixDigits },
      { title: "PhoneConfirmation" },
    ),
    replies: { 204: { description: "The new phone is set.", empty: true } },
    errors: ["invalid_credentials"],
  },
  async (ctx, { principal, body }) => {
    const { personId, accountId, scope } = personOf(principal);
    const right = await ctx.tx(scope, async (tx) => {
      const asked = { id: body.challenge_id, personId, purpose: "phone", code: body.code } as const;
      const challenge = await spendChallenge(tx, ctx.secrets, asked);
      if (challenge === null || challenge.phone === null || challenge.linkId !== null) return false;
      await updatePerson(tx, accountId, personId, { phone: challenge.phone, phone_verified_at: tx.now });
      tx.audit({ action: "person.phone_changed", targets: [{ type: "person", id: personId }] });
      const change = { accountId, of: { person: personId }, by: actorOf(principal) };
      await mailAboutChange(tx, ctx, { what: "phone_changed", ...change });
      return true;
    });
    if (!right) throw new Problem("invalid_credentials");
    return { status: 204 };
  },
);
