/** `/v1/me/totp` and `/v1/me/recovery-codes`: a new authenticator or new recovery codes for whoever has the old one. */

import { findPerson } from "../../accounts/index.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { Problem } from "../../kernel/problems.ts";
import { findCredentials, renewRecoveryCodes, replaceTotp, setNextTotp } from "../credentials.ts";
import { revokeSessionsOf } from "../sessions.ts";
import { recoveryCodesReply, sixDigits, totpSetup } from "../shapes.ts";
import { enrolmentOf, matchingStep, newTotpSecret, openTotp, sealTotp } from "../totp.ts";
import { personOf } from "../who.ts";

export const beginTotp = endpoint(
  {
    id: "me.begin_totp",
    method: "POST",
    path: "/v1/me/totp",
    tag: "me",
    summary: "Set up a new authenticator",
    description:
      "Shows the secret of a new authenticator. The old one counts until a code of the new one is shown (`/v1/me/totp/confirm`).",
    access: { kind: "person", scope: "account:write" },
    stepUp: true,
    idempotency: "none",
    replies: { 200: { description: "For the authenticator.", body: totpSetup } },
    errors: ["not_found"],
  },
  async (ctx, { principal }) => {
    const { personId, accountId, scope } = personOf(principal);
    const secret = newTotpSecret(ctx.random);
    const person = await ctx.tx(scope, async (tx) => {
      await setNextTotp(tx, personId, sealTotp(ctx.secrets, personId, secret));
      return findPerson(tx, accountId, personId);
    });
    if (person === undefined) throw new Problem("not_found");
    return { status: 200, body: enrolmentOf(secret, person.email) };
  },
);

export const confirmTotp = endpoint(
  {
    id: "me.confirm_totp",
    method: "POST",
    path: "/v1/me/totp/confirm",
    tag: "me",
    summary: "Switch to the new authenticator",
    description: "Takes a code of the new authenticator. Ends all your other sessions and makes new recovery codes.",
    access: { kind: "person", scope: "account:write" },
    stepUp: true,
    idempotency: "none",
    body: closed({ totp_code: sixDigits }, { title: "TotpConfirmation" }),
    replies: { 200: { description: "The new authenticator counts.", body: recoveryCodesReply } },
    errors: ["invalid_credentials", "state_conflict"],
  },
  async (ctx, { principal, body }) => {
    const { personId, accountId, scope } = personOf(principal);
    const codes = await ctx.tx(scope, async (tx) => {
      const credentials = await findCredentials(tx, personId);
      const sealed = credentials?.sealed_totp_next ?? null;
      if (sealed === null) throw new Problem("state_conflict");
      const step = matchingStep(openTotp(ctx.secrets, personId, sealed), body.totp_code, tx.now);
      if (step === null) throw new Problem("invalid_credentials");
      await replaceTotp(tx, personId, sealed, step);
      await revokeSessionsOf(tx, personId, "second_factor_changed", principal.sessionId);
      tx.audit({ action: "person.authenticator_changed", targets: [{ type: "person", id: personId }] });
      return renewRecoveryCodes(tx, ctx, { id: personId, accountId });
    });
    return { status: 200, body: { recovery_codes: codes } };
  },
);

export const renewCodes = endpoint(
  {
    id: "me.renew_recovery_codes",
    method: "POST",
    path: "/v1/me/recovery-codes",
    tag: "me",
    summary: "Make new recovery codes",
    description: "The old ones stop counting.",
    access: { kind: "person", scope: "account:write" },
    stepUp: true,
    idempotency: "none",
    replies: { 200: { description: "Ten new codes, shown this once.", body: recoveryCodesReply } },
  },
  async (ctx, { principal }) => {
    const { personId, accountId, scope } = personOf(principal);
    const codes = await ctx.tx(scope, async (tx) => {
      tx.audit({ action: "person.recovery_codes_renewed", targets: [{ type: "person", id: personId }] });
      return renewRecoveryCodes(tx, ctx, { id: personId, accountId });
    });
    return { status: 200, body: { recovery_codes: codes } };
  },
);
