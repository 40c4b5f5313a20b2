/** `GET /enrol/sign-in`: the page of the first sign-in, right after the enrolment. */

import type { Endpoint } from "../../../kernel/http/endpoint.ts";
import { explaining, pageReply, pageSpec } from "../../../pages/index.ts";
import { firstSignInHtml } from "../enrolment-html.ts";
import { firstSignInPage } from "../enrolment-pages.ts";

export const showEnrolmentSignIn: Endpoint = {
  spec: {
    ...firstSignInPage,
    id: "enrolment.show_sign_in",
    method: "GET",
    summary: "Page to sign in for the first time",
    description: "A page for people, to try the access that was just set up.",
    replies: { 200: pageSpec },
  },
  handle: async (_ctx, { language }) => pageReply(200, firstSignInHtml(language, "", null)),
  explain: explaining(),
};
