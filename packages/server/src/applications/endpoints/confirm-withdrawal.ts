/** `POST /withdraw/confirm`: the button of that page, which withdraws the application. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type } from "../../kernel/http/schema.ts";
import { droppedLink, fieldsOf, linkOf, noticeHtml, pageReply, pageSpec, requireFormToken } from "../../pages/index.ts";
import { withdraw } from "../withdrawal.ts";
import { confirmPage, explainLink } from "../withdrawal-pages.ts";

export const confirmWithdrawal: Endpoint = {
  spec: {
    ...confirmPage,
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
  explain: explainLink,
};
