/** `POST /v1/enrolment/phone`: sends a code to the phone of the person who enrols. */

import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, Type } from "../../../kernel/http/schema.ts";
import { challengeReply, challengeSeconds, linkToken, phoneInput } from "../../factors/index.ts";
import { sendPhoneCode } from "../enrolment-steps.ts";

const shared = { tag: "enrolment", access: { kind: "public" }, limits: ["login_ip"], idempotency: "none" } as const;

export const requestEnrolmentCode = endpoint(
  {
    ...shared,
    id: "enrolment.request_code",
    contentLimits: ["sms_minute", "sms_hour"],
    method: "POST",
    path: "/v1/enrolment/phone",
    summary: "Verify the phone",
    description: "Sends a code to the phone in the application, or to the phone in this request.",
    body: closed(
      {
        token: linkToken,
        phone: Type.Optional(phoneInput),
      },
      { title: "EnrolmentCodeRequest" },
    ),
    replies: { 202: { description: "A message will be sent.", body: challengeReply } },
    errors: ["not_found", "state_conflict"],
  },
  async (ctx, { body, language }) => {
    const id = await sendPhoneCode(ctx, body, language);
    return { status: 202, body: { challenge_id: id, expires_in: challengeSeconds } };
  },
);
