/** The second factor: a code of the authenticator, a code by SMS, or a recovery code. Each is good once. */

import type { Secrets } from "../../kernel/secrets.ts";
import type { Tx } from "../../kernel/tx.ts";
import type { ChallengePurpose } from "./challenges.ts";
import { spendChallenge, spendRecoveryCode, spendStep } from "./store.ts";
import { matchingStep, openTotp } from "./totp.ts";

/** How it was shown, in the words of RFC 8176 where it has one. */
export type FactorMethod = "otp" | "sms" | "recovery";

/** Six digits, or a recovery code as it was printed. */
export const factorPattern = "^(\\d{6}|[a-z0-9]{5}-[a-z0-9]{5})$";

export interface FactorClaim {
  readonly code: string;
  /** With a code by SMS: the challenge that it answers. */
  readonly challengeId: string | undefined;
  readonly purpose: Extract<ChallengePurpose, "sign_in" | "step_up">;
  /** Whether codes by SMS count now; one that was sent before they were switched off does not. */
  readonly smsAllowed: boolean;
}

/**
 * Checks a code and uses it up. Null when it is wrong or was used before. The caller must commit in both cases, because a
 * wrong code costs a try. Without `sealedTotp` the code is checked against a dummy secret.
 */
export async function spendFactor(
  tx: Tx,
  secrets: Secrets,
  personId: string,
  sealedTotp: Buffer | null,
  claim: FactorClaim,
): Promise<FactorMethod | null> {
  if (claim.challengeId !== undefined) {
    const { challengeId: id, code, purpose, smsAllowed } = claim;
    const isRight = (await spendChallenge(tx, secrets, { id, personId, purpose, code })) !== null;
    return isRight && smsAllowed ? "sms" : null;
  }
  if (claim.code.includes("-")) {
    return (await spendRecoveryCode(tx, secrets, personId, claim.code)) ? "recovery" : null;
  }
  const secret = sealedTotp === null ? dummySecret : openTotp(secrets, personId, sealedTotp);
  const step = matchingStep(secret, claim.code, tx.now);
  // Runs also when no step matches, with a step that no row has, so that every wrong code takes the same time.
  const spent = await spendStep(tx, personId, sealedTotp === null || step === null ? -1 : step);
  return spent ? "otp" : null;
}

/** Belongs to no person; 160 bits, as all secrets have. */
const dummySecret = "A".repeat(32);
