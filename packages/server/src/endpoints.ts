/**
 * The list of everything that can be called. A new endpoint is a line here; the router, the OpenAPI document, the docs
 * pages and the tests follow from it.
 */

import { createOauthClient } from "./accounts/endpoints/create-oauth-client.ts";
import { deleteOauthClient } from "./accounts/endpoints/delete-oauth-client.ts";
import { getAccount } from "./accounts/endpoints/get-account.ts";
import { getOauthClient } from "./accounts/endpoints/get-oauth-client.ts";
import { listOauthClients } from "./accounts/endpoints/list-oauth-clients.ts";
import { reviewOauthClient } from "./accounts/endpoints/review-oauth-client.ts";
import { rotateOauthClientSecret } from "./accounts/endpoints/rotate-oauth-client-secret.ts";
import { updateAccountSettings } from "./accounts/endpoints/update-account.ts";
import { updateOauthClient } from "./accounts/endpoints/update-oauth-client.ts";
import { accountSuspended } from "./accounts/index.ts";
import { approveApplication } from "./admin/endpoints/approve-application.ts";
import { liftAdminBan, listAdminBans, setBan } from "./admin/endpoints/bans.ts";
import { getAdminAccount } from "./admin/endpoints/get-account.ts";
import { getAdminApplication } from "./admin/endpoints/get-application.ts";
import { getOverview } from "./admin/endpoints/get-overview.ts";
import { listAdminAccounts } from "./admin/endpoints/list-accounts.ts";
import { listAdminApplications } from "./admin/endpoints/list-applications.ts";
import { listAudit } from "./admin/endpoints/list-audit.ts";
import { listAdminJobs } from "./admin/endpoints/list-jobs.ts";
import { listAdminMembers } from "./admin/endpoints/list-members.ts";
import {
  approveLimitRequest,
  listAdminLimitRequests,
  listAdminRateLimits,
  rejectLimitRequest,
  resetAccountRate,
  setAccountRate,
} from "./admin/endpoints/rate-limits.ts";
import { rejectApplication } from "./admin/endpoints/reject-application.ts";
import { resetSecondFactor } from "./admin/endpoints/reset-second-factor.ts";
import { resumeAccount } from "./admin/endpoints/resume-account.ts";
import { reviewApplication } from "./admin/endpoints/review-application.ts";
import { setEarlyAccess } from "./admin/endpoints/set-early-access.ts";
import { setAccountEntitlement } from "./admin/endpoints/set-entitlement.ts";
import { setAccountPackage } from "./admin/endpoints/set-package.ts";
import { suspendAccount } from "./admin/endpoints/suspend-account.ts";
import { withdrawalPages } from "./applications/endpoints/confirm-withdrawal.ts";
import { withdrawalDoor } from "./applications/endpoints/open-withdrawal.ts";
import { submitApplication } from "./applications/endpoints/submit-application.ts";
import { withdrawApplication } from "./applications/endpoints/withdraw-application.ts";
import { docsEndpoints } from "./docs/endpoints/read-docs.ts";
import { docsPages } from "./docs/index.ts";
import { checkLive } from "./health/endpoints/check-live.ts";
import { checkReady } from "./health/endpoints/check-ready.ts";
import { askPages } from "./identity/endpoints/ask-for-password-reset.ts";
import { beginTotp } from "./identity/endpoints/begin-totp.ts";
import { changePassword } from "./identity/endpoints/change-password.ts";
import { passwordPages } from "./identity/endpoints/choose-password.ts";
import { confirmPages } from "./identity/endpoints/confirm-access.ts";
import { confirmTotp } from "./identity/endpoints/confirm-totp.ts";
import { decideSecondFactorReset } from "./identity/endpoints/decide-second-factor-reset.ts";
import { endOauthGrant } from "./identity/endpoints/end-oauth-grant.ts";
import { endSession } from "./identity/endpoints/end-session.ts";
import { beginEnrolment, completeEnrolment, requestEnrolmentCode } from "./identity/endpoints/enrol.ts";
import { getMe } from "./identity/endpoints/get-me.ts";
import { getMember } from "./identity/endpoints/get-member.ts";
import { getOauthGrant } from "./identity/endpoints/get-oauth-grant.ts";
import { getSession } from "./identity/endpoints/get-session.ts";
import { inviteMember } from "./identity/endpoints/invite-member.ts";
import { listAccountMembers } from "./identity/endpoints/list-members.ts";
import { listOauthGrants } from "./identity/endpoints/list-oauth-grants.ts";
import { listSessions } from "./identity/endpoints/list-sessions.ts";
import { logIn } from "./identity/endpoints/log-in.ts";
import { logOut } from "./identity/endpoints/log-out.ts";
import { enrolmentDoor } from "./identity/endpoints/open-enrolment.ts";
import { resetDoor } from "./identity/endpoints/open-password-reset.ts";
import { confirmPhone, requestPhoneCode } from "./identity/endpoints/phone.ts";
import { refreshSession } from "./identity/endpoints/refresh-session.ts";
import { removeMember } from "./identity/endpoints/remove-member.ts";
import { renewCodes } from "./identity/endpoints/renew-recovery-codes.ts";
import { requestSmsCode } from "./identity/endpoints/request-sms-code.ts";
import { resendInvitation } from "./identity/endpoints/resend-invitation.ts";
import { requestPasswordReset, resetPassword } from "./identity/endpoints/reset-password.ts";
import { reviewOauthGrant } from "./identity/endpoints/review-oauth-grant.ts";
import { setupPages } from "./identity/endpoints/set-up-access.ts";
import { stepUp } from "./identity/endpoints/step-up.ts";
import { updateMe } from "./identity/endpoints/update-me.ts";
import { updateMember } from "./identity/endpoints/update-member.ts";
import { phonePages } from "./identity/endpoints/verify-phone.ts";
import type { EventType } from "./kernel/events.ts";
import type { Endpoint } from "./kernel/http/endpoint.ts";
import { type JsonObject, type OpenapiTag, openapiDocument } from "./kernel/http/openapi.ts";
import { listRateLimitRequests } from "./limits/endpoints/list-rate-limit-requests.ts";
import { listRateLimits } from "./limits/endpoints/list-rate-limits.ts";
import { requestRateLimit } from "./limits/endpoints/request-rate-limit.ts";
import { authorizeEndpoints } from "./oauth/endpoints/authorize.ts";
import { authorizeDevice } from "./oauth/endpoints/authorize-device.ts";
import { codeEndpoints } from "./oauth/endpoints/enter-code.ts";
import { interactionEndpoints } from "./oauth/endpoints/interact.ts";
import { introspectToken } from "./oauth/endpoints/introspect-token.ts";
import { issueToken } from "./oauth/endpoints/issue-token.ts";
import { metadataEndpoints, readKeys } from "./oauth/endpoints/read-metadata.ts";
import { revokeToken } from "./oauth/endpoints/revoke-token.ts";
import { moveClock } from "./sandbox/endpoints/move-clock.ts";
import { version } from "./version.ts";

export const endpoints: readonly Endpoint[] = [
  ...[getAccount, updateAccountSettings],
  ...[listAccountMembers, inviteMember, getMember, updateMember, removeMember, resendInvitation],
  decideSecondFactorReset,
  ...[listOauthClients, createOauthClient, getOauthClient, updateOauthClient],
  ...[deleteOauthClient, rotateOauthClientSecret, reviewOauthClient],
  ...[listOauthGrants, getOauthGrant, reviewOauthGrant, endOauthGrant],
  ...[submitApplication, withdrawApplication],
  ...[beginEnrolment, requestEnrolmentCode, completeEnrolment],
  ...[logIn, refreshSession, logOut, requestSmsCode, stepUp, requestPasswordReset, resetPassword],
  ...[getMe, updateMe, changePassword, beginTotp, confirmTotp, renewCodes, requestPhoneCode, confirmPhone],
  ...[listSessions, getSession, endSession],
  ...[getOverview, listAudit, listAdminAccounts, getAdminAccount, listAdminMembers, listAdminJobs, resetSecondFactor],
  ...[suspendAccount, resumeAccount, setAccountPackage, setAccountEntitlement, setEarlyAccess],
  ...[listAdminApplications, getAdminApplication, reviewApplication, approveApplication, rejectApplication],
  ...[listRateLimits, requestRateLimit, listRateLimitRequests],
  ...[listAdminBans, setBan, liftAdminBan],
  ...[listAdminRateLimits, setAccountRate, resetAccountRate],
  ...[listAdminLimitRequests, approveLimitRequest, rejectLimitRequest],
  ...[...enrolmentDoor, ...phonePages, ...setupPages, ...confirmPages],
  ...[...resetDoor, ...passwordPages, ...askPages],
  ...[...withdrawalDoor, ...withdrawalPages],
  moveClock,
  checkLive,
  checkReady,
  issueToken,
  revokeToken,
  introspectToken,
  authorizeDevice,
  ...authorizeEndpoints,
  ...codeEndpoints,
  ...interactionEndpoints,
  readKeys,
  ...metadataEndpoints,
  ...docsEndpoints(once(() => docsPages({ openapi: apiDocument() }))),
];

/** Every event that an account can be told of. */
export const events: readonly EventType[] = [accountSuspended];

export const tags: readonly OpenapiTag[] = [
  { name: "account", description: "The account, its package and its settings." },
  { name: "admin", description: "For staff of the platform." },
  { name: "auth", description: "Signing in and out." },
  { name: "enrolment", description: "From a link in a mail to a person who can sign in." },
  { name: "me", description: "The person who asks: name, password, second factor, phone." },
  { name: "members", description: "The people of an account and what they may do." },
  { name: "oauth-clients", description: "Programs of an account, and their secrets." },
  { name: "oauth-grants", description: "Programs that members allowed to act for them, agents included." },
  { name: "rate-limits", description: "How often an account may ask, and what is left." },
  { name: "sandbox", description: "For tests, in profile sandbox only." },
  { name: "sessions", description: "Where a person is signed in." },
  { name: "webhooks", description: "What we tell your systems." },
  { name: "applications", description: "Becoming a customer." },
  { name: "docs", description: "This document, and pages about it." },
  { name: "oauth", description: "OAuth 2.0: access for programs, and the pages where people allow it." },
  { name: "health", description: "For supervisors and load balancers." },
];

/** The OpenAPI document of this release. */
export function apiDocument(): JsonObject {
  return openapiDocument(endpoints, events, tags, version);
}

/** The documentation describes the endpoints and is served by some of them: it is made when it is first asked for. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
