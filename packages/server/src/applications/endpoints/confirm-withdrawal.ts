/** `GET` and `POST /withdraw/confirm`: the page where an applicant withdraws. */

import type { Call, Ctx, Endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import {
  droppedLink,
  escapeHtml,
  explaining,
  fieldsOf,
  formToken,
  frame,
  hidden,
  linkOf,
  noticeHtml,
  pageReply,
  pageSpec,
  requireFormToken,
  sayIn,
} from "../../pages/index.ts";
import { findWithdrawal, withdraw } from "../withdrawal.ts";

const shared = { tag: "applications", access: { kind: "public" }, wire: "pages" } as const;
const withLink = { ...shared, path: "/withdraw/confirm", limits: ["login_ip"], cookies: ["__Host-link"] } as const;
const explain = explaining({ not_found: "withdrawOver", state_conflict: "withdrawDecided" });

const show: Endpoint = {
  spec: {
    ...withLink,
    id: "withdrawal.show_form",
    method: "GET",
    summary: "Page to withdraw an application",
    description: "A page for people who opened the link in the mail. It does not use the link up.",
    errors: ["not_found", "origin_not_allowed"],
    replies: { 200: pageSpec },
  },
  handle: async (ctx, call) => pageReply(200, await confirmHtml(ctx, call)),
  explain,
};

async function confirmHtml(ctx: Ctx, call: Call): Promise<string> {
  const token = linkOf(call);
  const say = sayIn(call.language);
  const { id, company_name: company } = await findWithdrawal(ctx, token);
  return frame(
    call.language,
    "withdrawTitle",
    `<dl>
<dt>${say("company")}</dt><dd>${escapeHtml(company)}</dd>
<dt>${say("applicationNumber")}</dt><dd><code>${escapeHtml(id)}</code></dd>
</dl>
<p>${say("withdrawLead")}</p>
<form method="post" action="/withdraw/confirm">
${hidden("csrf", formToken(ctx, token))}
<button type="submit">${say("withdrawButton")}</button>
</form>`,
  );
}

const confirm: Endpoint = {
  spec: {
    ...withLink,
    id: "withdrawal.confirm",
    method: "POST",
    summary: "Withdraw an application",
    description:
      "The form of that page. It does the same as the operation `applications.withdraw` and uses the link up.",
    idempotency: "none",
    form: closed({
      csrf: Type.String({ maxLength: 64, pattern: "^[A-Za-z0-9_-]*$", description: "From the page." }),
    }),
    errors: ["not_found", "origin_not_allowed", "state_conflict"],
    replies: { 200: pageSpec },
  },
  handle: async (ctx, call) => {
    const token = linkOf(call);
    requireFormToken(ctx, token, fieldsOf(call).csrf);
    await withdraw(ctx, token);
    return pageReply(200, noticeHtml(call.language, "withdrawnTitle", "withdrawnLead"), { cookies: [droppedLink] });
  },
  explain,
};

export const withdrawalPages: readonly Endpoint[] = [show, confirm];
