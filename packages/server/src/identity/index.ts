/**
 * Identity: how people prove who they are, and what that allows them afterwards. Five parts, each with its own index,
 * store and endpoints, in the order in which they may import each other (decision 0222):
 *
 * - `factors`: passwords, authenticators, recovery codes, codes by SMS, the lockout;
 * - `sessions`: signing in, sessions, access tokens, grants;
 * - `enrolment`: links in mails, invitations, the enrolment;
 * - `recovery`: password reset, reset of the second factor;
 * - `members`: the people of an account, and the person who asks.
 *
 * This file is the public API for other domains.
 */

export { addStaff, findLink, type LinkRow, makeLink, sendEnrolment, spendLink } from "./enrolment/index.ts";
export {
  areCredentialsCurrent,
  eraseFactors,
  hashPassword,
  linkToken,
  newTotpSecret,
  renewRecoveryCodes,
  sealTotp,
  setCredentials,
} from "./factors/index.ts";
export { beginSecondFactorReset, completeSecondFactorReset } from "./recovery/index.ts";
export {
  type AuthenticatorSources,
  accessTokenOf,
  accessTokenSeconds,
  createAuthenticator,
  createSubjectCache,
  createTokens,
  type EndReason,
  findLiveSession,
  findTokenSubject,
  insertSession,
  issuerOf,
  type NewSession,
  principalOf,
  prolongSession,
  recordClientFailure,
  repeatWindowMs,
  requestSignInCode,
  revokeSession,
  type SessionRow,
  type SignedIn,
  type SignInClaim,
  type SignInCtx,
  type SubjectRow,
  scopeOfPerson,
  signIn,
} from "./sessions/index.ts";
export { identityRecurrences, identityTasks } from "./tasks.ts";
