/** `/v1/enrolment`: from the link in a mail to a person who can sign in. The link is spent by the last step. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed, identifier, nullable, oneOf, Type } from "../../kernel/http/schema.ts";
import { challengeSeconds } from "../challenges.ts";
import { finishEnrolment, openEnrolment, sendPhoneCode } from "../enrolment-steps.ts";
import {
  challengeReply,
  enrolmentCompletion,
  linkToken,
  maskedPhone,
  phoneInput,
  recoveryCodesReply,
  totpSetup,
} from "../shapes.ts";

const shared = { tag: "enrolment", access: { kind: "public" }, limits: ["login_ip"], idempotency: "none" } as const;

export const beginEnrolment = endpoint(
  {
    ...shared,
    id: "enrolment.begin",
    method: "POST",
    path: "/v1/enrolment",
    summary: "Open an enrolment",
    description:
      "Shows the person of the link and the data for the authenticator. It can be repeated; only completing the enrolment uses the link up. 409 when the address now signs in to another account.",
    body: closed({ token: linkToken }, { title: "EnrolmentRequest" }),
    replies: {
      200: {
        description: "The data of the enrolment.",
        body: closed(
          {
            purpose: oneOf(["enrolment", "second_factor_reset"], "A new person, or a new authenticator."),
            email: Type.String({ format: "email", maxLength: 254, description: "The e-mail address for the sign-in." }),
            phone: nullable(identifier("^[+0-9*]+$", "The stored phone number, masked.")),
            phone_required: Type.Boolean({ description: "Whether a phone must be verified." }),
            totp: totpSetup,
          },
          { title: "Enrolment" },
        ),
      },
    },
    errors: ["not_found", "state_conflict"],
  },
  async (ctx, { body }) => {
    const { purpose, person, phoneRequired, totp } = await openEnrolment(ctx, body.token);
    const phone = { phone: maskedPhone(person.phone), phone_required: phoneRequired };
    return { status: 200, body: { purpose, email: person.email, ...phone, totp } };
  },
);

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

export const completeEnrolment = endpoint(
  {
    ...shared,
    id: "enrolment.complete",
    method: "POST",
    path: "/v1/enrolment/complete",
    summary: "Complete an enrolment",
    description:
      "Sets password, authenticator and phone in one step, uses the link up and shows the recovery codes, only in this answer. After a reset of the second factor, `password` must be your current password, because access to the mailbox alone is not enough. An address belongs to the person who enrols it first: 409 for everybody else.",
    body: enrolmentCompletion,
    replies: { 200: { description: "You can sign in now.", body: recoveryCodesReply } },
    errors: ["not_found", "invalid_credentials", "too_many_attempts", "state_conflict"],
  },
  async (ctx, { body, language }) => ({
    status: 200,
    body: { recovery_codes: await finishEnrolment(ctx, body, language) },
  }),
);
