/**
 * Recovery: a forgotten password, and a lost second factor. Owns the table `second_factor_resets`.
 *
 * Invariants: a password reset leaves the second factor as it is, and a reset of the second factor leaves the password as
 * it is; either ends all sessions of the person.
 */

export { mailPasswordReset } from "./password-reset.ts";
export { applySecondFactorReset, beginSecondFactorReset, completeSecondFactorReset } from "./second-factor-reset.ts";
