/** `GET /reset-password/sent`: the page after asking, which says that a mail may come. */

import type { Endpoint } from "../../../kernel/http/endpoint.ts";
import { explaining, noticeHtml, pageReply, pageSpec } from "../../../pages/index.ts";
import { sentPage } from "../reset-pages.ts";

export const showPasswordResetSent: Endpoint = {
  spec: {
    ...sentPage,
    id: "password_reset.show_sent",
    method: "GET",
    summary: "Page after the request for a password reset",
    description: "A page for people, which asks them to check their mailbox.",
    replies: { 200: pageSpec },
  },
  handle: async (_ctx, { language }) => pageReply(200, noticeHtml(language, "askedTitle", "askedLead")),
  explain: explaining(),
};
