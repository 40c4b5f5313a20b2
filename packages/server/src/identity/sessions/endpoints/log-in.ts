/** `POST /v1/auth/login`: e-mail, password and second factor for an access token and a refresh cookie. */

import { emailSchema } from "../../../accounts/index.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, oneOf, Type } from "../../../kernel/http/schema.ts";
import { challengeId, factorCode, passwordSchema } from "../../factors/index.ts";
import { openPersonSession } from "../open-session.ts";
import { accessTokenReply, cookies, setCookieHeader } from "../shapes.ts";
import { signIn } from "../sign-in.ts";

export const logIn = endpoint(
  {
    id: "auth.login",
    method: "POST",
    path: "/v1/auth/login",
    aliases: ["/auth/login"],
    tag: "auth",
    summary: "Log in",
    description:
      "Checks e-mail, password and second factor. The answer has an access token, to be kept in memory, and sets the refresh cookie. The answer is the same for every wrong value. At most 5 attempts a minute per e-mail and client address; after ten failures in a row the waiting time grows.",
    access: { kind: "public" },
    limits: ["login_ip"],
    contentLimits: ["login"],
    cookies: ["__Host-device"],
    idempotency: "none",
    body: closed(
      {
        email: emailSchema,
        password: passwordSchema,
        totp_code: factorCode,
        otp_challenge_id: Type.Optional(challengeId),
        client: Type.Optional(oneOf(["api", "dashboard"], "The kind of session (default `api`).")),
      },
      { title: "LoginRequest" },
    ),
    replies: { 200: { description: "Signed in.", body: accessTokenReply, headers: setCookieHeader } },
    errors: ["invalid_credentials", "too_many_attempts"],
  },
  async (ctx, { body, cookies: sent }) => {
    const signedIn = await signIn(ctx, {
      email: body.email,
      password: body.password,
      code: body.totp_code,
      challengeId: body.otp_challenge_id,
      deviceToken: sent["__Host-device"],
      allowStaff: true,
    });
    const { reply, cookie } = await openPersonSession(ctx, signedIn, body.client ?? "api");
    return { status: 200, body: reply, headers: cookies(cookie, signedIn.deviceCookie) };
  },
);
