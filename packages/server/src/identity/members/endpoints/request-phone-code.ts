/** `POST /v1/me/phone`: sends a code to a new phone. */

import { normalizeMobile } from "../../../identifiers/index.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, text } from "../../../kernel/http/schema.ts";
import { invalidField } from "../../../kernel/http/validate.ts";
import { type Language, Problem } from "../../../kernel/problems.ts";
import { challengeReply, challengeSeconds, insertChallenge, sendCode } from "../../factors/index.ts";
import { personOf } from "../../sessions/index.ts";

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

function requireMobile(text: string, language: Language): string {
  const phone = normalizeMobile(text);
  if (phone !== null) return phone;
  throw new Problem("validation_failed", { errors: [invalidField("/phone", "wrong_format", language)] });
}
