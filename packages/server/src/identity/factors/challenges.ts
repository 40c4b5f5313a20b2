/**
 * Codes by SMS. A *challenge* is one code that was requested and not yet used: six digits, five minutes, five tries, valid
 * once. One is stored for every request, also for an unknown address. Then no message is sent and no code is
 * right.
 */

import type { Random } from "../../kernel/clock.ts";
import type { Secrets } from "../../kernel/secrets.ts";

/** The contract's 300 seconds. */
export const challengeSeconds = 300;

/** The contract's five: one in 200 000 to guess. */
export const challengeTries = 5;

export type ChallengePurpose = "sign_in" | "step_up" | "phone";

export interface NewChallenge {
  readonly id: string;
  readonly accountId: string | null;
  /** Null: no code will be right. */
  readonly personId: string | null;
  readonly purpose: ChallengePurpose;
  readonly phone?: string;
  readonly linkId?: string;
}

/** Whether a code by SMS may replace the authenticator at sign-in and step-up. This depends on the person and the account. */
export function mayUseSms(
  person: { readonly phone_verified_at: Date | null },
  account: { readonly sms_sign_in: boolean } | undefined,
): boolean {
  return account?.sms_sign_in === true && person.phone_verified_at !== null;
}

/** Six digits, each as likely as any other: numbers beyond the last whole million are drawn again. */
export function newCode(random: Random): string {
  const codes = 1_000_000;
  const fair = Math.floor(2 ** 32 / codes) * codes;
  let drawn = random.bytes(4).readUInt32BE(0);
  while (drawn >= fair) drawn = random.bytes(4).readUInt32BE(0);
  return String(drawn % codes).padStart(6, "0");
}

/** Bound to its challenge: a code of one is nothing to another. */
export function codeHash(secrets: Secrets, challengeId: string, code: string): Buffer {
  return secrets.digest("otp-code", `${challengeId}\n${code}`);
}
