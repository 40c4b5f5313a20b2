/** Asking for a code by SMS, as the API and the pages do it: in place of the authenticator, or to step up. */

import { foldEmail } from "../../identifiers/index.ts";
import type { Ctx } from "../../kernel/http/endpoint.ts";
import { insertChallenge, type NewChallenge, sendCode } from "../factors/index.ts";
import { checkPassword, type SignInClaim, type SignInCtx, scopeOfPerson } from "./sign-in.ts";

/**
 * Creates a challenge for a sign-in; returns its id. A message is sent only when the password is right, the phone verified
 * and the account allows it. The answer is the same. Throws `rate_limited` and `too_many_attempts`.
 */
export async function requestSignInCode(
  ctx: SignInCtx,
  claim: Pick<SignInClaim, "email" | "password" | "deviceToken">,
): Promise<string> {
  await ctx.spend(["sms_minute", "sms_hour"], foldEmail(claim.email));
  const person = await checkPassword(ctx, claim);
  const accountId = person?.account_id ?? null;
  return challenge(ctx, { accountId, personId: person?.id ?? null, purpose: "sign_in" });
}

/** Creates a challenge for the step-up of a session of this member; returns its id. */
export async function requestStepUpCode(
  ctx: SignInCtx,
  { accountId, memberId: personId }: { readonly accountId: string; readonly memberId: string },
): Promise<string> {
  await ctx.spend(["sms_minute", "sms_hour"], personId);
  return challenge(ctx, { accountId, personId, purpose: "step_up" });
}

/** Does the same work for every caller. The job decides whether a message is sent, so the time of the answer shows nothing. */
async function challenge(
  ctx: Pick<Ctx, "tx" | "random" | "secrets">,
  wanted: Omit<NewChallenge, "id">,
): Promise<string> {
  const id = ctx.random.uuid();
  await ctx.tx(scopeOfPerson({ account_id: wanted.accountId }), async (tx) => {
    const code = await insertChallenge(tx, ctx, { ...wanted, id });
    await tx.job({ task: sendCode, payload: { challenge_id: id, code } });
  });
  return id;
}
