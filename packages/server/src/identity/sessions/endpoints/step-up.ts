/** `POST /v1/auth/step-up`: a fresh second factor for acts that cannot be undone. */

import { findAccount, findPerson } from "../../../accounts/index.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed, Type } from "../../../kernel/http/schema.ts";
import { Problem } from "../../../kernel/problems.ts";
import type { Tx } from "../../../kernel/tx.ts";
import {
  challengeId,
  countAttempt,
  factorCode,
  findCredentials,
  forgiveAttempt,
  mayUseSms,
  sessionAttemptsId,
  spendFactor,
} from "../../factors/index.ts";
import { accessTokenOf } from "../access-tokens.ts";
import { tokenReply } from "../open-session.ts";
import { personOf } from "../principal-person.ts";
import { accessTokenReply } from "../shapes.ts";
import { findLiveSession, refreshAuthTime } from "../store.ts";

export const stepUp = endpoint(
  {
    id: "auth.step_up",
    method: "POST",
    path: "/v1/auth/step-up",
    tag: "auth",
    summary: "Confirm with a fresh code",
    description:
      "Checks a second factor again. The answer has an access token whose `auth_time` is now, with the scopes of the token in the request. Actions that cannot be undone need an `auth_time` of less than ten minutes ago (403 `step_up_required`). Failures count per session, by the rules of the lockout; failed logins of other people with your e-mail do not count.",
    access: { kind: "person", scope: "account:read" },
    idempotency: "none",
    body: closed({ totp_code: factorCode, otp_challenge_id: Type.Optional(challengeId) }, { title: "StepUpRequest" }),
    replies: { 200: { description: "A new access token.", body: accessTokenReply } },
    errors: ["invalid_credentials", "too_many_attempts"],
  },
  async (ctx, { principal, body }) => {
    const { personId, accountId, scope } = personOf(principal);
    const attempts = sessionAttemptsId(ctx.secrets, principal.sessionId);
    await ctx.tx(scope, (tx) => countAttempt(tx, attempts, ctx.settings.limitLockout));
    const session = await ctx.tx(scope, async (tx) => {
      const credentials = await findCredentials(tx, personId);
      const smsAllowed = await isSmsAllowed(tx, accountId, personId);
      const { totp_code: code, otp_challenge_id: challengeId } = body;
      const claim = { code, challengeId, purpose: "step_up", smsAllowed } as const;
      const sealed = credentials?.sealed_totp ?? null;
      const method = await spendFactor(tx, ctx.secrets, personId, sealed, claim);
      if (method === null) {
        const targets = [{ type: "person", id: personId }];
        tx.audit({ action: "person.step_up_failed", targets, outcome: "failure" });
        return null;
      }
      await forgiveAttempt(tx, attempts);
      await refreshAuthTime(tx, principal.sessionId, ["pwd", method, "mfa"]);
      tx.audit({ action: "person.stepped_up", targets: [{ type: "person", id: personId }], metadata: { method } });
      return (await findLiveSession(tx, principal.sessionId)) ?? null;
    });
    if (session === null) throw new Problem("invalid_credentials");
    // Never more scopes than the token of the request: a code must not widen it.
    const held = principal.kind === "member" ? principal.scopes : null;
    return { status: 200, body: tokenReply(await accessTokenOf(ctx, session, held)) };
  },
);

async function isSmsAllowed(tx: Tx, accountId: string | null, personId: string): Promise<boolean> {
  if (accountId === null) return false;
  const person = await findPerson(tx, accountId, personId);
  return person !== undefined && mayUseSms(person, await findAccount(tx, accountId));
}
