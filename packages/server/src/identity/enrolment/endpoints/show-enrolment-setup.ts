/** `GET /enrol/setup`: the page where a new member sets password, authenticator and phone. */

import type { Call, Endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, Type, uuid } from "../../../kernel/http/schema.ts";
import { formToken, linkOf, pageReply, pageSpec, redirectReply, redirectSpec } from "../../../pages/index.ts";
import { setupHtml } from "../enrolment-html.ts";
import { challengeIdOf, explainLink, setupPage } from "../enrolment-pages.ts";
import { openEnrolment } from "../enrolment-steps.ts";

export const showEnrolmentSetup: Endpoint = {
  spec: {
    ...setupPage,
    id: "enrolment.show_setup",
    method: "GET",
    summary: "Page to set up access",
    description:
      "A page for people who opened the link in the mail. It shows the QR code for the authenticator and does not use the link up.",
    query: closed({ challenge: Type.Optional(uuid("The code that was sent to the phone.")) }),
    errors: ["not_found", "origin_not_allowed", "state_conflict"],
    replies: { 200: pageSpec, 303: redirectSpec },
  },
  handle: async (ctx, call) => {
    const enrolment = await openEnrolment(ctx, linkOf(call));
    const challengeId = challengeIn(call);
    if (challengeId === null && enrolment.phoneRequired) return redirectReply("/enrol/phone");
    const view = { enrolment, csrf: formToken(ctx, linkOf(call)), formError: null };
    return pageReply(200, setupHtml(call.language, view, challengeId));
  },
  explain: explainLink,
};

function challengeIn({ raw }: Call): string | null {
  return challengeIdOf(new URLSearchParams((raw?.url ?? "").split("?")[1] ?? "").get("challenge") ?? undefined);
}
