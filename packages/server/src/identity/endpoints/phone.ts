/** `/v1/me/phone`: another phone, proved by a code that is sent to it. */

import { tellOfChange, updatePerson } from "../../accounts/index.ts";
import { normalizeMobile } from "../../identifiers/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, text, uuid } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { actorOf } from "../../kernel/principal.ts";
import { type Language, Problem } from "../../kernel/problems.ts";
import { challengeSeconds, insertChallenge, spendChallenge } from "../challenges.ts";
import { sendCode } from "../send-code.ts";
import { challengeReply, sixDigits } from "../shapes.ts";
import { personOf } from "../who.ts";

export const requestPhoneCode = endpoint(
  {
    id: "me.request_phone_code",
    method: "POST",
    path: "/v1/me/phone",
    tag: "me",
    summary: "Change your phone",
    description: "Sends a code to the new number. The number changes when you send the code (`/v1/me/phone/confirm`).",
    access: { kind: "person", scope: "account:write" },
    contentLimits: ["sms_minute", "sms_hour"],
    stepUp: true,
    idempotency: "none",
    body: closed(
      { phone: text(24, { minLength: 10, pattern: "^\\+?[0-9 ().-]+$", description: "Turkish mobile." }) },
      { title: "PhoneChange" },
    ),
    replies: { 202: { description: "A message will be sent.", body: challengeReply } },
  },
  async (ctx, { principal, body, language }) => {
    const { personId, accountId, scope } = personOf(principal);
    const phone = requireMobile(body.phone, language);
    await ctx.spend(["sms_minute", "sms_hour"], personId);
    const id = ctx.random.uuid();
    await ctx.tx(scope, async (tx) => {
      const code = await insertChallenge(tx, ctx, { id, accountId, personId, purpose: "phone", phone });
      await tx.job({ task: sendCode, payload: { challenge_id: id, code } });
    });
    return { status: 202, body: { challenge_id: id, expires_in: challengeSeconds } };
  },
);

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
      await tellOfChange(tx, ctx, { what: "phone_changed", ...change });
      return true;
    });
    if (!right) throw new Problem("invalid_credentials");
    return { status: 204 };
  },
);

function requireMobile(text: string, language: Language): string {
  const phone = normalizeMobile(text);
  if (phone !== null) return phone;
  throw new Problem("validation_failed", { errors: [invalidField("/phone", "wrong_format", language)] });
}
