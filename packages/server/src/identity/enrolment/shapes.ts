/** An enrolment as the API takes it. */

import { closed, Type, uuid } from "../../kernel/http/schema.ts";
import { linkToken, passwordSchema, sixDigits } from "../factors/index.ts";

export const enrolmentCompletion = closed(
  {
    token: linkToken,
    password: passwordSchema,
    totp_code: sixDigits,
    phone_challenge_id: Type.Optional(uuid("The `challenge_id` of the SMS code.")),
    phone_code: Type.Optional(sixDigits),
  },
  { title: "EnrolmentCompletion" },
);
