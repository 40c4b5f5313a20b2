/** `GET /enrol/phone`: the page where a new member has a code sent to their phone. */

import type { Endpoint } from "../../../kernel/http/endpoint.ts";
import { formToken, linkOf, pageReply, pageSpec, redirectReply, redirectSpec } from "../../../pages/index.ts";
import { phoneHtml } from "../enrolment-html.ts";
import { explainLink, phonePage } from "../enrolment-pages.ts";
import { openEnrolment } from "../enrolment-steps.ts";

export const showEnrolmentPhone: Endpoint = {
  spec: {
    ...phonePage,
    id: "enrolment.show_phone",
    method: "GET",
    summary: "Page to verify the phone",
    description: "A page for people who opened the link in the mail. It changes nothing.",
    replies: { 200: pageSpec, 303: redirectSpec },
  },
  handle: async (ctx, call) => {
    const enrolment = await openEnrolment(ctx, linkOf(call));
    if (enrolment.purpose === "second_factor_reset") return redirectReply("/enrol/setup");
    return pageReply(200, phoneHtml(call.language, { enrolment, csrf: formToken(ctx, linkOf(call)), formError: null }));
  },
  explain: explainLink,
};
