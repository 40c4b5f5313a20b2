/**
 * Factors: what people show to sign in. Owns the tables `credentials`, `recovery_codes`, `otp_challenges`,
 * `phone_messages`, `attempts`.
 *
 * Nouns: a *credential* is a password and an authenticator; a *challenge* is a code by SMS; an *attempt* is a try to show
 * a password or a code.
 *
 * Invariants: every code and time step is good once, over all processes; passwords and codes are stored only as a hash or
 * sealed.
 */

export { attemptsId, sessionAttemptsId } from "./attempts.ts";
export { challengeSeconds, mayUseSms, type NewChallenge } from "./challenges.ts";
export { dummyHash, hashPassword, maxPasswordLength, requireGoodPassword, verifyPassword } from "./passwords.ts";
export { spendFactor } from "./second-factor.ts";
export { sendCode } from "./send-code.ts";
export {
  challengeId,
  challengeReply,
  factorCode,
  linkToken,
  maskedPhone,
  passwordSchema,
  phoneInput,
  recoveryCodesReply,
  sixDigits,
  totpSetup,
} from "./shapes.ts";
export {
  areCredentialsCurrent,
  countAttempt,
  countFailure,
  countRecoveryCodes,
  eraseFactors,
  findCredentials,
  forgiveAttempt,
  insertChallenge,
  renewRecoveryCodes,
  replaceTotp,
  setCredentials,
  setNextTotp,
  setPasswordHash,
  spendChallenge,
} from "./store.ts";
export { enrolmentOf, matchingStep, newTotpSecret, openTotp, sealTotp } from "./totp.ts";
