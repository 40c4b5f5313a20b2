/** `POST /enrol/setup`: the button of that page. It completes the enrolment and shows the recovery codes. */

import type { Endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, Type } from "../../../kernel/http/schema.ts";
import { refuse, validator } from "../../../kernel/http/validate.ts";
import {
  catchFormError,
  droppedLink,
  fieldsOf,
  formErrorSpecs,
  formToken,
  linkOf,
  pageReply,
  pageSpec,
  requireFormToken,
} from "../../../pages/index.ts";
import { codesHtml, setupHtml } from "../enrolment-html.ts";
import { challengeIdOf, explainLink, setupPage } from "../enrolment-pages.ts";
import { type EnrolmentCompletion, finishEnrolment, openEnrolment } from "../enrolment-steps.ts";
import { enrolmentCompletion } from "../shapes.ts";

const checkCompletion = validator(enrolmentCompletion, "");

const text = (description: string) => Type.String({ maxLength: 1024, pattern: "^[^\\u0000]*$", description });

export const setUpEnrolment: Endpoint = {
  spec: {
    ...setupPage,
    id: "enrolment.set_up",
    method: "POST",
    summary: "Set up access",
    description:
      "The form of that page. It does the same as the operation `enrolment.complete`. It uses the link up. The recovery codes are shown only in this answer.",
    idempotency: "none",
    form: closed({
      csrf: text("From the page."),
      username: Type.Optional(text("For password managers; ignored.")),
      password: text("Password."),
      totp_code: text("Code of the authenticator."),
      phone_challenge_id: Type.Optional(text("From the page.")),
      phone_code: Type.Optional(text("Code of the SMS.")),
    }),
    errors: ["not_found", "origin_not_allowed", "state_conflict", "invalid_credentials", "too_many_attempts"],
    replies: { ...formErrorSpecs, 200: pageSpec },
  },
  handle: async (ctx, call) => {
    const token = linkOf(call);
    const { csrf, username: _forManagers, totp_code = "", phone_code, ...fields } = fieldsOf(call);
    requireFormToken(ctx, token, csrf);
    // Apps and messages show codes in two groups of three.
    const bare = (code: string) => code.replaceAll(/\s/g, "");
    const codes = { totp_code: bare(totp_code), ...(phone_code !== undefined && { phone_code: bare(phone_code) }) };
    const body = { ...fields, ...codes, token };
    const outcome = await catchFormError(async () => {
      refuse(checkCompletion(body, call.language));
      return finishEnrolment(ctx, body as unknown as EnrolmentCompletion, call.language);
    });
    if ("done" in outcome) {
      return pageReply(200, codesHtml(call.language, outcome.done), { cookies: [droppedLink] });
    }
    const { formError } = outcome;
    const view = { enrolment: await openEnrolment(ctx, token), csrf: formToken(ctx, token), formError };
    const challengeId = challengeIdOf(fields.phone_challenge_id);
    return pageReply(formError.status, setupHtml(call.language, view, challengeId), { headers: formError.headers });
  },
  explain: explainLink,
};
