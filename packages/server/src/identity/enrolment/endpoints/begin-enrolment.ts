/** `POST /v1/enrolment`: shows whose enrolment a link is, and what the authenticator needs. */

import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, identifier, nullable, oneOf, Type } from "../../../kernel/http/schema.ts";
import { linkToken, maskedPhone, totpSetup } from "../../factors/index.ts";
import { openEnrolment } from "../enrolment-steps.ts";

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
