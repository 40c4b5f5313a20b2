/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { askPages } from "./ask-for-password-reset.ts";
import { beginTotp } from "./begin-totp.ts";
import { changePassword } from "./change-password.ts";
import { passwordPages } from "./choose-password.ts";
import { confirmPages } from "./confirm-access.ts";
import { confirmTotp } from "./confirm-totp.ts";
import { decideSecondFactorReset } from "./decide-second-factor-reset.ts";
import { endOauthGrant } from "./end-oauth-grant.ts";
import { endSession } from "./end-session.ts";
import { beginEnrolment, completeEnrolment, requestEnrolmentCode } from "./enrol.ts";
import { getMe } from "./get-me.ts";
import { getMember } from "./get-member.ts";
import { getOauthGrant } from "./get-oauth-grant.ts";
import { getSession } from "./get-session.ts";
import { inviteMember } from "./invite-member.ts";
import { listAccountMembers } from "./list-members.ts";
import { listOauthGrants } from "./list-oauth-grants.ts";
import { listSessions } from "./list-sessions.ts";
import { logIn } from "./log-in.ts";
import { logOut } from "./log-out.ts";
import { enrolmentDoor } from "./open-enrolment.ts";
import { resetDoor } from "./open-password-reset.ts";
import { confirmPhone, requestPhoneCode } from "./phone.ts";
import { refreshSession } from "./refresh-session.ts";
import { removeMember } from "./remove-member.ts";
import { renewCodes } from "./renew-recovery-codes.ts";
import { requestSmsCode } from "./request-sms-code.ts";
import { resendInvitation } from "./resend-invitation.ts";
import { requestPasswordReset, resetPassword } from "./reset-password.ts";
import { reviewOauthGrant } from "./review-oauth-grant.ts";
import { setupPages } from "./set-up-access.ts";
import { stepUp } from "./step-up.ts";
import { updateMe } from "./update-me.ts";
import { updateMember } from "./update-member.ts";
import { phonePages } from "./verify-phone.ts";

export const identityEndpoints: readonly Endpoint[] = [
  listAccountMembers,
  inviteMember,
  getMember,
  updateMember,
  removeMember,
  resendInvitation,
  decideSecondFactorReset,
  listOauthGrants,
  getOauthGrant,
  reviewOauthGrant,
  endOauthGrant,
  beginEnrolment,
  requestEnrolmentCode,
  completeEnrolment,
  logIn,
  refreshSession,
  logOut,
  requestSmsCode,
  stepUp,
  requestPasswordReset,
  resetPassword,
  getMe,
  updateMe,
  changePassword,
  beginTotp,
  confirmTotp,
  renewCodes,
  requestPhoneCode,
  confirmPhone,
  listSessions,
  getSession,
  endSession,
  ...enrolmentDoor,
  ...phonePages,
  ...setupPages,
  ...confirmPages,
  ...resetDoor,
  ...passwordPages,
  ...askPages,
];

export const identityTags: readonly OpenapiTag[] = [
  { name: "auth", description: "Signing in and out." },
  { name: "enrolment", description: "Setting up access with the link in a mail." },
  { name: "me", description: "The signed-in person: name, password, second factor, phone." },
  { name: "members", description: "The people of an account and their roles." },
  { name: "oauth-grants", description: "Programs that may act for members, including agents." },
  { name: "sessions", description: "The sessions of a person." },
];
