/** `POST /auth/sms-otp/request`: a code by SMS, in place of the authenticator or to step up. */

import { emailSchema } from "../../accounts/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { invalidField } from "../../kernel/http/validate.ts";
import { type Language, Problem } from "../../kernel/problems.ts";
import { challengeSeconds } from "../challenges.ts";
import { requestSignInCode, requestStepUpCode } from "../request-code.ts";
import { challengeReply, passwordSchema } from "../shapes.ts";

export const requestSmsCode = endpoint(
  {
    id: "auth.request_sms_code",
    method: "POST",
    path: "/auth/sms-otp/request",
    aliases: ["/v1/auth/sms-otp/request"],
    tag: "auth",
    summary: "Request an SMS one-time code",
    description:
      "Sends six digits to the verified phone, to be used as `totp_code` together with `otp_challenge_id`. The answer is always the same; a message leaves only when e-mail and password are right, the phone is verified and the account allows it. With an access token, and then without e-mail and password, it makes a challenge for stepping up; that, too, sends nothing unless the phone is verified and the account allows codes by SMS. Once a minute and five times an hour per e-mail and address; each request counts to the lockout of logging in until the next whole login, whether or not the password was right.",
    access: { kind: "public" },
    contentLimits: ["sms_minute", "sms_hour"],
    cookies: ["__Host-device"],
    idempotency: "none",
    body: closed(
      { email: Type.Optional(emailSchema), password: Type.Optional(passwordSchema) },
      { title: "SmsCodeRequest" },
    ),
    replies: { 202: { description: "If everything is right, a message is on its way.", body: challengeReply } },
    errors: ["too_many_attempts"],
  },
  async (ctx, { body, principal, cookies, language }) => {
    const id =
      principal.kind === "member"
        ? await requestStepUpCode(ctx, principal)
        : await requestSignInCode(ctx, { ...required(body, language), deviceToken: cookies["__Host-device"] });
    return { status: 202, body: { challenge_id: id, expires_in: challengeSeconds } };
  },
);

function required(body: { email?: string; password?: string }, language: Language) {
  const { email, password } = body;
  if (email !== undefined && password !== undefined) return { email, password };
  const missing = (["email", "password"] as const).filter((name) => body[name] === undefined);
  const errors = missing.map((name) => invalidField(`/${name}`, "required", language));
  throw new Problem("validation_failed", { errors });
}
