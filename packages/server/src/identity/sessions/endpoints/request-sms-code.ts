/** `POST /auth/sms-otp/request`: a code by SMS, in place of the authenticator or to step up. */

import { emailSchema } from "../../../accounts/index.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, Type } from "../../../kernel/http/schema.ts";
import { invalidField } from "../../../kernel/http/validate.ts";
import { type Language, Problem } from "../../../kernel/problems.ts";
import { challengeReply, challengeSeconds, passwordSchema } from "../../factors/index.ts";
import { requestSignInCode, requestStepUpCode } from "../request-code.ts";

export const requestSmsCode = endpoint(
  {
    id: "auth.request_sms_code",
    method: "POST",
    path: "/auth/sms-otp/request",
    aliases: ["/v1/auth/sms-otp/request"],
    tag: "auth",
    summary: "Request an SMS one-time code",
    description:
      "Sends six digits to the verified phone, to be used as `totp_code` together with `otp_challenge_id`. The answer is always the same. A message is sent only if e-mail and password are right, the phone is verified and the account allows SMS codes. With an access token, and without e-mail and password, the code is for a step-up; a message is sent only if the phone is verified and the account allows SMS codes. Once a minute and five times an hour per e-mail and client address. Each request counts towards the login lockout until the next complete login, whether or not the password was right.",
    access: { kind: "public" },
    contentLimits: ["sms_minute", "sms_hour"],
    cookies: ["__Host-device"],
    idempotency: "none",
    body: closed(
      { email: Type.Optional(emailSchema), password: Type.Optional(passwordSchema) },
      { title: "SmsCodeRequest" },
    ),
    replies: { 202: { description: "If the data is right, a message will be sent.", body: challengeReply } },
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
