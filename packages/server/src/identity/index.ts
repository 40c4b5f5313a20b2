/**
 * Identity: how people show who they are, and what that is worth afterwards. Owns the tables `credentials`,
 * `recovery_codes`, `sessions`, `devices`, `attempts`, `otp_challenges`, `phone_messages`, `links`,
 * `invitations`, `second_factor_resets`.
 *
 * Nouns: a *credential* is a password and an authenticator; a *session* is a family of refresh tokens, and what every
 * access token answers to; a *challenge* is a code by SMS; a *link* is a secret in a mail; an *attempt* is a try to show
 * a password or a code.
 *
 * Invariants: the answer to a wrong sign-in is the same, and takes as long, whatever was wrong; every code, step and
 * link is good once, over all processes; nothing that was shown to a person (password, code, token, link) is kept but as
 * a hash or sealed; role, package, suspension and revocation are read for every request.
 */

export { addStaff } from "./add-staff.ts";
export { type AuthenticatorSources, createAuthenticator, principalOf, type SubjectRow } from "./authenticator.ts";
export { areCredentialsCurrent, renewRecoveryCodes, setCredentials } from "./credentials.ts";
export { sendEnrolment } from "./enrolment.ts";
export { recordClientFailure } from "./failures.ts";
export { findLink, type LinkRow, makeLink, spendLink } from "./links.ts";
export { hashPassword } from "./passwords.ts";
export { requestSignInCode } from "./request-code.ts";
export { beginSecondFactorReset, completeSecondFactorReset } from "./second-factor-reset.ts";
export {
  accessTokenOf,
  type EndReason,
  findLiveSession,
  insertSession,
  type NewSession,
  prolongSession,
  repeatWindowMs,
  revokeSession,
  type SessionRow,
} from "./sessions.ts";
export { linkToken } from "./shapes.ts";
export { type SignedIn, type SignInClaim, type SignInCtx, scopeOfPerson, signIn } from "./sign-in.ts";
export { identityRecurrences, identityTasks } from "./tasks.ts";
export { accessTokenSeconds, createTokens, issuerOf } from "./tokens.ts";
export { newTotpSecret, sealTotp } from "./totp.ts";
