/** `GET` and `POST /enrol/setup`: the page where a newcomer sets password, authenticator and phone, and its button. */

import type { Call, Endpoint } from "../../kernel/http/endpoint.ts";
import { closed, Type, uuid } from "../../kernel/http/schema.ts";
import { refuse, validator } from "../../kernel/http/validate.ts";
import {
  droppedLink,
  explaining,
  fieldsOf,
  formToken,
  linkOf,
  mending,
  mendSpecs,
  pageReply,
  pageSpec,
  redirectReply,
  redirectSpec,
  requireFormToken,
} from "../../pages/index.ts";
import { codesHtml, setupHtml } from "../enrolment-html.ts";
import { type EnrolmentCompletion, finishEnrolment, openEnrolment } from "../enrolment-steps.ts";
import { enrolmentCompletion } from "../shapes.ts";

const shared = {
  tag: "enrolment",
  path: "/enrol/setup",
  access: { kind: "public" },
  wire: "pages",
  limits: ["login_ip"],
  cookies: ["__Host-link"],
} as const;
const explain = explaining({ not_found: "enrolOver", state_conflict: "addressTaken" });
const checkCompletion = validator(enrolmentCompletion, "");

const show: Endpoint = {
  spec: {
    ...shared,
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
    const view = { enrolment, csrf: formToken(ctx, linkOf(call)), mend: null };
    return pageReply(200, setupHtml(call.language, view, challengeId));
  },
  explain,
};

const text = (description: string) => Type.String({ maxLength: 1024, pattern: "^[^\\u0000]*$", description });

const finish: Endpoint = {
  spec: {
    ...shared,
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
    replies: { ...mendSpecs, 200: pageSpec },
  },
  handle: async (ctx, call) => {
    const token = linkOf(call);
    const { csrf, username: _forManagers, totp_code = "", phone_code, ...fields } = fieldsOf(call);
    requireFormToken(ctx, token, csrf);
    // Apps and messages show codes in two groups of three.
    const bare = (code: string) => code.replaceAll(/\s/g, "");
    const codes = { totp_code: bare(totp_code), ...(phone_code !== undefined && { phone_code: bare(phone_code) }) };
    const body = { ...fields, ...codes, token };
    const outcome = await mending(async () => {
      refuse(checkCompletion(body, call.language));
      return finishEnrolment(ctx, body as unknown as EnrolmentCompletion, call.language);
    });
    if ("done" in outcome) {
      return pageReply(200, codesHtml(call.language, outcome.done), { cookies: [droppedLink] });
    }
    const { mend } = outcome;
    const view = { enrolment: await openEnrolment(ctx, token), csrf: formToken(ctx, token), mend };
    const challengeId = asId(fields.phone_challenge_id);
    return pageReply(mend.status, setupHtml(call.language, view, challengeId), { headers: mend.headers });
  },
  explain,
};

export const setupPages: readonly Endpoint[] = [show, finish];

function challengeIn({ raw }: Call): string | null {
  return asId(new URLSearchParams((raw?.url ?? "").split("?")[1] ?? "").get("challenge") ?? undefined);
}

function asId(text: string | undefined): string | null {
  return text !== undefined && /^[0-9a-f-]{36}$/.test(text) ? text : null;
}
