/** `GET /reset-password/done`: the page after a new password. */

import type { Endpoint } from "../../../kernel/http/endpoint.ts";
import { noticeHtml, pageReply, pageSpec } from "../../../pages/index.ts";
import { donePage, explainLink } from "../reset-pages.ts";

export const showPasswordResetDone: Endpoint = {
  spec: {
    ...donePage,
    id: "password_reset.show_done",
    method: "GET",
    summary: "Page after a new password",
    description: "A page for people, shown after the password was changed.",
    replies: { 200: pageSpec },
  },
  handle: async (_ctx, { language }) => pageReply(200, noticeHtml(language, "resetDoneTitle", "resetDoneLead")),
  explain: explainLink,
};
