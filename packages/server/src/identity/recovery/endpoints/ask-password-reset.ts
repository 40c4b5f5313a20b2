/** `POST /reset-password/request`: the button of that page, which mails the link. */

import { emailSchema } from "../../../accounts/index.ts";
import type { Endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, Type } from "../../../kernel/http/schema.ts";
import { refuse, validator } from "../../../kernel/http/validate.ts";
import {
  catchFormError,
  explaining,
  fieldsOf,
  formErrorSpecs,
  pageReply,
  redirectReply,
  redirectSpec,
} from "../../../pages/index.ts";
import { askForReset } from "../reset-by-link.ts";
import { askHtml } from "../reset-html.ts";
import { requestPage } from "../reset-pages.ts";

const checkEmail = validator(closed({ email: emailSchema }), "");

export const askPasswordReset: Endpoint = {
  spec: {
    ...requestPage,
    id: "password_reset.ask",
    method: "POST",
    summary: "Request a password reset",
    description:
      "The form of that page. It does the same as the operation `auth.request_password_reset`. The answer is the same whether or not the address is known.",
    idempotency: "none",
    limits: ["login_ip"],
    contentLimits: ["login"],
    // No cookie is read. Operations with cookies refuse forms of other origins.
    cookies: ["__Host-link"],
    form: closed({ email: Type.String({ maxLength: 254, pattern: "^[^\\u0000]*$", description: "E-mail address." }) }),
    replies: { 200: formErrorSpecs[200], 303: redirectSpec, 429: formErrorSpecs[429] },
  },
  handle: async (ctx, call) => {
    const body = { email: (fieldsOf(call).email ?? "").trim() };
    const outcome = await catchFormError(async () => {
      refuse(checkEmail(body, call.language));
      await askForReset(ctx, body.email);
    });
    if ("done" in outcome) return redirectReply("/reset-password/sent");
    const { formError } = outcome;
    return pageReply(formError.status, askHtml(call.language, formError), { headers: formError.headers });
  },
  explain: explaining(),
};
