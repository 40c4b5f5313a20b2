/**
 * Sessions: signing in, and the rights of later requests. Owns the tables `sessions` and `devices`.
 *
 * Nouns: a *session* is a family of refresh tokens, and every access token belongs to one; a *grant* is a session that a
 * member allowed to a program; a *device* is a browser that a person has signed in from.
 *
 * Invariants: every wrong sign-in gets the same answer after the same time; a change of role, package, suspension and
 * revocation counts within a second on every process.
 */

export { accessTokenOf } from "./access-tokens.ts";
export { type AuthenticatorSources, createAuthenticator, principalOf } from "./authenticator.ts";
export { recordClientFailure, writeSignInFailure } from "./failures.ts";
export { openPersonSession } from "./open-session.ts";
export { personOf } from "./principal-person.ts";
export { endAccessOf, withholdPrograms } from "./programs.ts";
export { repeatWindowMs } from "./refresh-tokens.ts";
export { requestSignInCode } from "./request-code.ts";
export { checkPassword, type SignedIn, type SignInClaim, type SignInCtx, scopeOfPerson, signIn } from "./sign-in.ts";
export {
  type EndReason,
  findLiveSession,
  forgetDevices,
  insertSession,
  type NewSession,
  prolongSession,
  revokeSession,
  type SessionRow,
} from "./store.ts";
export { createSubjectCache } from "./subject-cache.ts";
export { findTokenSubject, type SubjectRow } from "./subject-store.ts";
export { accessTokenSeconds, createTokens, issuerOf } from "./tokens.ts";
