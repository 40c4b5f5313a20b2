/** `GET /withdraw/confirm`: the page where an applicant withdraws. */

import type { Call, Ctx, Endpoint } from "../../kernel/http/endpoint.ts";
import { escapeHtml, formToken, frame, hidden, linkOf, pageReply, pageSpec, textIn } from "../../pages/index.ts";
import { findWithdrawal } from "../withdrawal.ts";
import { confirmPage, explainLink } from "../withdrawal-pages.ts";

export const showWithdrawalForm: Endpoint = {
  spec: {
    ...confirmPage,
    id: "withdrawal.show_form",
    method: "GET",
    summary: "Page to withdraw an application",
    description: "A page for people who opened the link in the mail. It does not use the link up.",
    errors: ["not_found", "origin_not_allowed"],
    replies: { 200: pageSpec },
  },
  handle: async (ctx, call) => pageReply(200, await confirmHtml(ctx, call)),
  explain: explainLink,
};

async function confirmHtml(ctx: Ctx, call: Call): Promise<string> {
  const token = linkOf(call);
  const text = textIn(call.language);
  const { id, company_name: company } = await findWithdrawal(ctx, token);
  return frame(
    call.language,
    "withdrawTitle",
    `<dl>
<dt>${text("company")}</dt><dd>${escapeHtml(company)}</dd>
<dt>${text("applicationNumber")}</dt><dd><code>${escapeHtml(id)}</code></dd>
</dl>
<p>${text("withdrawLead")}</p>
<form method="post" action="/withdraw/confirm">
${hidden("csrf", formToken(ctx, token))}
<button type="submit">${text("withdrawButton")}</button>
</form>`,
  );
}
