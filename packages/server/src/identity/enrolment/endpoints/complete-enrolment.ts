/** `POST /v1/enrolment/complete`: sets password, authenticator and phone, and spends the link. */

import { endpoint } from "../../../kernel/http/endpoint.ts";
import { recoveryCodesReply } from "../../factors/index.ts";
import { finishEnrolment } from "../enrolment-steps.ts";
import { enrolmentCompletion } from "../shapes.ts";

const shared = { tag: "enrolment", access: { kind: "public" }, limits: ["login_ip"], idempotency: "none" } as const;

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
