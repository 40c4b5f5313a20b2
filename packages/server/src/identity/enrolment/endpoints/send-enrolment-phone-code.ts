/** `POST /enrol/phone`: the button of that page, which sends the code. */

import type { Call, Ctx, Endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, Type } from "../../../kernel/http/schema.ts";
import { refuse, validator } from "../../../kernel/http/validate.ts";
import {
  catchFormError,
  fieldsOf,
  formErrorSpecs,
  formToken,
  linkOf,
  pageReply,
  redirectReply,
  redirectSpec,
  requireFormToken,
} from "../../../pages/index.ts";
import { phoneInput } from "../../factors/index.ts";
import { phoneHtml } from "../enrolment-html.ts";
import { explainLink, phonePage } from "../enrolment-pages.ts";
import { openEnrolment, sendPhoneCode } from "../enrolment-steps.ts";

const checkPhone = validator(closed({ phone: Type.Optional(phoneInput) }), "");

export const sendEnrolmentPhoneCode: Endpoint = {
  spec: {
    ...phonePage,
    id: "enrolment.send_phone_code",
    contentLimits: ["sms_minute", "sms_hour"],
    method: "POST",
    summary: "Send the code to the phone",
    description:
      "The form of that page. It does the same as the operation `enrolment.request_code`, with the same limits.",
    idempotency: "none",
    form: closed({
      csrf: Type.String({ maxLength: 64, pattern: "^[A-Za-z0-9_-]*$", description: "From the page." }),
      phone: Type.Optional(Type.String({ maxLength: 24, pattern: "^[^\\u0000]*$", description: "Another phone." })),
    }),
    replies: { 200: formErrorSpecs[200], 303: redirectSpec, 429: formErrorSpecs[429] },
  },
  handle: async (ctx, call) => {
    const token = linkOf(call);
    const { csrf, phone = "" } = fieldsOf(call);
    requireFormToken(ctx, token, csrf);
    const wanted = { token, ...(phone.trim() !== "" && { phone: phone.trim() }) };
    const outcome = await catchFormError(() => sendCode(ctx, call, wanted));
    if ("done" in outcome) return redirectReply(`/enrol/setup?challenge=${outcome.done}`);
    const { formError } = outcome;
    const view = { enrolment: await openEnrolment(ctx, token), csrf: formToken(ctx, token), formError };
    return pageReply(formError.status, phoneHtml(call.language, view), { headers: formError.headers });
  },
  explain: explainLink,
};

async function sendCode(ctx: Ctx, { language }: Call, wanted: { token: string; phone?: string }): Promise<string> {
  const { token, ...phone } = wanted;
  refuse(checkPhone(phone, language));
  return sendPhoneCode(ctx, { token, ...phone }, language);
}
