/** Every operation of this part, and the tags that group them in the API document. */

import type { Endpoint } from "../../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../../kernel/http/openapi.ts";
import { beginEnrolment } from "./begin-enrolment.ts";
import { completeEnrolment } from "./complete-enrolment.ts";
import { openEnrolmentLink } from "./open-enrolment-link.ts";
import { requestEnrolmentCode } from "./request-enrolment-code.ts";
import { sendEnrolmentPhoneCode } from "./send-enrolment-phone-code.ts";
import { setUpEnrolment } from "./set-up-enrolment.ts";
import { showEnrolmentLink } from "./show-enrolment-link.ts";
import { showEnrolmentPhone } from "./show-enrolment-phone.ts";
import { showEnrolmentSetup } from "./show-enrolment-setup.ts";
import { showEnrolmentSignIn } from "./show-enrolment-sign-in.ts";
import { signInEnrolment } from "./sign-in-enrolment.ts";

export const enrolmentEndpoints: readonly Endpoint[] = [
  beginEnrolment,
  requestEnrolmentCode,
  completeEnrolment,
  showEnrolmentLink,
  openEnrolmentLink,
  showEnrolmentPhone,
  sendEnrolmentPhoneCode,
  showEnrolmentSetup,
  setUpEnrolment,
  showEnrolmentSignIn,
  signInEnrolment,
];

export const enrolmentTags: readonly OpenapiTag[] = [
  { name: "enrolment", description: "Setting up access with the link in a mail." },
];
