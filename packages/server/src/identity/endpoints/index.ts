/** Every operation of this domain, and the tags that group them in the API document. */

import type { Endpoint } from "../../kernel/http/endpoint.ts";
import type { OpenapiTag } from "../../kernel/http/openapi.ts";
import { adminListMembers } from "./admin-list-members.ts";
import { adminResetSecondFactor } from "./admin-reset-second-factor.ts";
import { askPasswordReset } from "./ask-password-reset.ts";
import { beginEnrolment } from "./begin-enrolment.ts";
import { beginTotp } from "./begin-totp.ts";
import { changePassword } from "./change-password.ts";
import { choosePasswordReset } from "./choose-password-reset.ts";
import { completeEnrolment } from "./complete-enrolment.ts";
import { confirmPhone } from "./confirm-phone.ts";
import { confirmTotp } from "./confirm-totp.ts";
import { decideSecondFactorReset } from "./decide-second-factor-reset.ts";
import { endOauthGrant } from "./end-oauth-grant.ts";
import { endSession } from "./end-session.ts";
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
import { openEnrolmentLink } from "./open-enrolment-link.ts";
import { openPasswordResetLink } from "./open-password-reset-link.ts";
import { refreshSession } from "./refresh-session.ts";
import { removeMember } from "./remove-member.ts";
import { renewCodes } from "./renew-recovery-codes.ts";
import { requestEnrolmentCode } from "./request-enrolment-code.ts";
import { requestPasswordReset } from "./request-password-reset.ts";
import { requestPhoneCode } from "./request-phone-code.ts";
import { requestSmsCode } from "./request-sms-code.ts";
import { resendInvitation } from "./resend-invitation.ts";
import { resetPassword } from "./reset-password.ts";
import { reviewOauthGrant } from "./review-oauth-grant.ts";
import { sendEnrolmentPhoneCode } from "./send-enrolment-phone-code.ts";
import { setUpEnrolment } from "./set-up-enrolment.ts";
import { showEnrolmentLink } from "./show-enrolment-link.ts";
import { showEnrolmentPhone } from "./show-enrolment-phone.ts";
import { showEnrolmentSetup } from "./show-enrolment-setup.ts";
import { showEnrolmentSignIn } from "./show-enrolment-sign-in.ts";
import { showPasswordResetDone } from "./show-password-reset-done.ts";
import { showPasswordResetForm } from "./show-password-reset-form.ts";
import { showPasswordResetLink } from "./show-password-reset-link.ts";
import { showPasswordResetRequest } from "./show-password-reset-request.ts";
import { showPasswordResetSent } from "./show-password-reset-sent.ts";
import { signInEnrolment } from "./sign-in-enrolment.ts";
import { stepUp } from "./step-up.ts";
import { updateMe } from "./update-me.ts";
import { updateMember } from "./update-member.ts";

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
  endOauthGrant,
  reviewOauthGrant,
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
  adminListMembers,
  adminResetSecondFactor,
  showEnrolmentLink,
  openEnrolmentLink,
  showEnrolmentPhone,
  sendEnrolmentPhoneCode,
  showEnrolmentSetup,
  setUpEnrolment,
  showEnrolmentSignIn,
  signInEnrolment,
  showPasswordResetLink,
  openPasswordResetLink,
  showPasswordResetForm,
  choosePasswordReset,
  showPasswordResetDone,
  showPasswordResetRequest,
  askPasswordReset,
  showPasswordResetSent,
];

export const identityTags: readonly OpenapiTag[] = [
  { name: "auth", description: "Signing in and out." },
  { name: "enrolment", description: "Setting up access with the link in a mail." },
  { name: "me", description: "The signed-in person: name, password, second factor, phone." },
  { name: "members", description: "The people of an account and their roles." },
  { name: "oauth-grants", description: "Programs that may act for members, including agents." },
  { name: "sessions", description: "The sessions of a person." },
];
