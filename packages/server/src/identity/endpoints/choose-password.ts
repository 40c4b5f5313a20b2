/** `/reset-password/new` and `/reset-password/done`: the page where a forgotten password is replaced. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { refuse, validator } from "../../kernel/http/validate.ts";
import {
  droppedLink,
  explaining,
  fieldsOf,
  formToken,
  linkOf,
  mending,
  mendSpecs,
  noticeHtml,
  pageReply,
  pageSpec,
  redirectReply,
  redirectSpec,
  requireFormToken,
} from "../../pages/index.ts";
import { findReset, resetByLink } from "../reset-by-link.ts";
import { newPasswordHtml } from "../reset-html.ts";
import { passwordReset } from "../shapes.ts";

const shared = { tag: "auth", access: { kind: "public" }, wire: "pages" } as const;
const withLink = {
  ...shared,
  path: "/reset-password/new",
  limits: ["login_ip"],
  cookies: ["__Host-link"],
  errors: ["not_found", "origin_not_allowed"],
} as const;
const explain = explaining(
  { not_found: "resetOver" },
  { not_found: { href: "/reset-password/request", word: "askButton" } },
);
const checkReset = validator(passwordReset, "");

const show: Endpoint = {
  spec: {
    ...withLink,
    id: "password_reset.show_form",
    method: "GET",
    summary: "Page for the new password",
    description: "A page for people who opened the link in the mail. It does not use the link up.",
    replies: { 200: pageSpec },
  },
  handle: async (ctx, call) => {
    const { email } = await findReset(ctx, linkOf(call));
    return pageReply(200, newPasswordHtml(call.language, email, formToken(ctx, linkOf(call)), null));
  },
  explain,
};

const choose: Endpoint = {
  spec: {
    ...withLink,
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
    replies: { 200: mendSpecs[200], 303: redirectSpec },
  },
  handle: async (ctx, call) => {
    const token = linkOf(call);
    const { csrf, new_password = "" } = fieldsOf(call);
    requireFormToken(ctx, token, csrf);
    const outcome = await mending(async () => {
      const body = { token, new_password };
      refuse(checkReset(body, call.language));
      await resetByLink(ctx, body, call.language);
    });
    if ("done" in outcome) return redirectReply("/reset-password/done", [droppedLink]);
    const { mend } = outcome;
    const { email } = await findReset(ctx, token);
    return pageReply(200, newPasswordHtml(call.language, email, formToken(ctx, token), mend));
  },
  explain,
};

const done: Endpoint = {
  spec: {
    ...shared,
    id: "password_reset.show_done",
    method: "GET",
    path: "/reset-password/done",
    summary: "Page after a new password",
    description: "A page for people, shown after the password was changed.",
    replies: { 200: pageSpec },
  },
  handle: async (_ctx, { language }) => pageReply(200, noticeHtml(language, "resetDoneTitle", "resetDoneLead")),
  explain,
};

export const passwordPages: readonly Endpoint[] = [show, choose, done];
