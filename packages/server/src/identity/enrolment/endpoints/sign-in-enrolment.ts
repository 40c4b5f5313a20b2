/** `POST /enrol/sign-in`: the button of that page, which signs in. */

import { emailSchema } from "../../../accounts/index.ts";
import { cookieHeader } from "../../../kernel/http/cookies.ts";
import type { Endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, Type } from "../../../kernel/http/schema.ts";
import { validator } from "../../../kernel/http/validate.ts";
import { Problem } from "../../../kernel/problems.ts";
import {
  catchFormError,
  explaining,
  fieldsOf,
  formErrorSpecs,
  noticeHtml,
  pageReply,
  pageSpec,
} from "../../../pages/index.ts";
import { factorCode, passwordSchema } from "../../factors/index.ts";
import { openPersonSession, signIn } from "../../sessions/index.ts";
import { firstSignInHtml } from "../enrolment-html.ts";
import { firstSignInPage } from "../enrolment-pages.ts";

const checkLogin = validator(closed({ email: emailSchema, password: passwordSchema, totp_code: factorCode }), "");

export const signInEnrolment: Endpoint = {
  spec: {
    ...firstSignInPage,
    id: "enrolment.sign_in",
    method: "POST",
    summary: "Sign in for the first time",
    description:
      "The form of that page. It does the same as the operation `auth.login`, with the same limits and lockout.",
    idempotency: "none",
    limits: ["login_ip"],
    contentLimits: ["login"],
    cookies: ["__Host-device"],
    form: closed({
      email: Type.String({ maxLength: 254, pattern: "^[^\\u0000]*$", description: "E-mail address." }),
      password: Type.String({ maxLength: 1024, pattern: "^[^\\u0000]*$", description: "Password." }),
      totp_code: Type.String({ maxLength: 20, pattern: "^[^\\u0000]*$", description: "Second factor." }),
    }),
    errors: ["invalid_credentials", "too_many_attempts"],
    replies: { 200: pageSpec, 401: formErrorSpecs[401], 429: formErrorSpecs[429] },
  },
  handle: async (ctx, call) => {
    const { email = "", password = "", totp_code = "" } = fieldsOf(call);
    const login = { email: email.trim(), password, totp_code: totp_code.replaceAll(/\s/g, "").toLowerCase() };
    const outcome = await catchFormError(async () => {
      // Impossible values get the same answer as wrong ones.
      if (checkLogin(login, call.language).length > 0) throw new Problem("invalid_credentials");
      const { totp_code: code, ...rest } = login;
      const deviceToken = call.cookies["__Host-device"];
      const signedIn = await signIn(ctx, { ...rest, code, challengeId: undefined, deviceToken, allowStaff: true });
      const { cookie } = await openPersonSession(ctx, signedIn, "dashboard");
      return [cookieHeader(cookie), cookieHeader(signedIn.deviceCookie)];
    });
    if ("done" in outcome) {
      const html = noticeHtml(call.language, "signedInTitle", "signedInLead");
      return pageReply(200, html, { cookies: outcome.done });
    }
    const { formError } = outcome;
    const html = firstSignInHtml(call.language, login.email, formError);
    return pageReply(formError.status, html, { headers: formError.headers });
  },
  explain: explaining(),
};
