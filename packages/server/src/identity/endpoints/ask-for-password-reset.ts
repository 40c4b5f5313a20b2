/** `/reset-password/request` and `/reset-password/sent`: the page where a person asks for a link to a new password. */

import { emailSchema } from "../../accounts/index.ts";
import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { refuse, validator } from "../../kernel/http/validate.ts";
import {
  explaining,
  fieldsOf,
  mending,
  mendSpecs,
  noticeHtml,
  pageReply,
  pageSpec,
  redirectReply,
  redirectSpec,
} from "../../pages/index.ts";
import { askForReset } from "../reset-by-link.ts";
import { askHtml } from "../reset-html.ts";

const shared = { tag: "auth", access: { kind: "public" }, wire: "pages" } as const;
const explain = explaining();
const checkEmail = validator(closed({ email: emailSchema }), "");

const show: Endpoint = {
  spec: {
    ...shared,
    id: "password_reset.show_request",
    method: "GET",
    path: "/reset-password/request",
    summary: "Page to request a password reset",
    description: "A page for people who forgot their password.",
    replies: { 200: pageSpec },
  },
  handle: async (_ctx, { language }) => pageReply(200, askHtml(language, null)),
  explain,
};

const ask: Endpoint = {
  spec: {
    ...shared,
    id: "password_reset.ask",
    method: "POST",
    path: "/reset-password/request",
    summary: "Request a password reset",
    description:
      "The form of that page. It does the same as the operation `auth.request_password_reset`. The answer is the same whether or not the address is known.",
    idempotency: "none",
    limits: ["login_ip"],
    contentLimits: ["login"],
    // None is read; naming one makes browsers say where the form comes from.
    cookies: ["__Host-link"],
    form: closed({ email: Type.String({ maxLength: 254, pattern: "^[^\\u0000]*$", description: "E-mail address." }) }),
    replies: { 200: mendSpecs[200], 303: redirectSpec, 429: mendSpecs[429] },
  },
  handle: async (ctx, call) => {
    const body = { email: (fieldsOf(call).email ?? "").trim() };
    const outcome = await mending(async () => {
      refuse(checkEmail(body, call.language));
      await askForReset(ctx, body.email);
    });
    if ("done" in outcome) return redirectReply("/reset-password/sent");
    const { mend } = outcome;
    return pageReply(mend.status, askHtml(call.language, mend), { headers: mend.headers });
  },
  explain,
};

const sent: Endpoint = {
  spec: {
    ...shared,
    id: "password_reset.show_sent",
    method: "GET",
    path: "/reset-password/sent",
    summary: "Page after the request for a password reset",
    description: "A page for people, which asks them to check their mailbox.",
    replies: { 200: pageSpec },
  },
  handle: async (_ctx, { language }) => pageReply(200, noticeHtml(language, "askedTitle", "askedLead")),
  explain,
};

export const askPages: readonly Endpoint[] = [show, ask, sent];
