/** `POST /reset-password/new`: the button of that page, which sets the new password. */

import type { Endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, Type } from "../../../kernel/http/schema.ts";
import { refuse, validator } from "../../../kernel/http/validate.ts";
import {
  catchFormError,
  droppedLink,
  fieldsOf,
  formErrorSpecs,
  formToken,
  linkOf,
  pageReply,
  redirectReply,
  redirectSpec,
  requireFormToken,
} from "../../../pages/index.ts";
import { findReset, resetByLink } from "../reset-by-link.ts";
import { newPasswordHtml } from "../reset-html.ts";
import { explainLink, formPage } from "../reset-pages.ts";
import { passwordReset } from "../shapes.ts";

const checkReset = validator(passwordReset, "");

export const choosePasswordReset: Endpoint = {
  spec: {
    ...formPage,
    id: "password_reset.choose",
    method: "POST",
    summary: "Set the new password",
    description: "The form of that page. It does the same as the operation `auth.reset_password` and uses the link up.",
    idempotency: "none",
    form: closed({
      csrf: Type.String({ maxLength: 64, pattern: "^[A-Za-z0-9_-]*$", description: "From the page." }),
      username: Type.Optional(Type.String({ maxLength: 254, pattern: "^[^\\u0000]*$", description: "Ignored." })),
      new_password: Type.String({ maxLength: 1024, pattern: "^[^\\u0000]*$", description: "The new password." }),
    }),
    replies: { 200: formErrorSpecs[200], 303: redirectSpec },
  },
  handle: async (ctx, call) => {
    const token = linkOf(call);
    const { csrf, new_password = "" } = fieldsOf(call);
    requireFormToken(ctx, token, csrf);
    const outcome = await catchFormError(async () => {
      const body = { token, new_password };
      refuse(checkReset(body, call.language));
      await resetByLink(ctx, body, call.language);
    });
    if ("done" in outcome) return redirectReply("/reset-password/done", [droppedLink]);
    const { formError } = outcome;
    const { email } = await findReset(ctx, token);
    return pageReply(200, newPasswordHtml(call.language, email, formToken(ctx, token), formError));
  },
  explain: explainLink,
};
