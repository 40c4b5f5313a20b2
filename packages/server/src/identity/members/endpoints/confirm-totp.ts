/** `POST /v1/me/totp/confirm`: the new authenticator counts from here on. */

import { findPerson, mailAboutChange } from "../../../accounts/index.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed } from "../../../kernel/http/schema.ts";
import { actorOf } from "../../../kernel/principal.ts";
import { Problem } from "../../../kernel/problems.ts";
import {
  findCredentials,
  matchingStep,
  openTotp,
  recoveryCodesReply,
  renewRecoveryCodes,
  replaceTotp,
  sixDigits,
} from "../../factors/index.ts";
import { endAccessOf, personOf } from "../../sessions/index.ts";
import { requirePerson } from "../members.ts";

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
    replies: { 200: { description: "The new authenticator works now.", body: recoveryCodesReply } },
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
      const person = await requirePerson(findPerson(tx, accountId, personId));
      await endAccessOf(tx, ctx, person, "second_factor_changed", principal.sessionId);
      tx.audit({ action: "person.authenticator_changed", targets: [{ type: "person", id: personId }] });
      const change = { accountId, of: { person: personId }, by: actorOf(principal) };
      await mailAboutChange(tx, ctx, { what: "authenticator_changed", ...change });
      return renewRecoveryCodes(tx, ctx, { id: personId, accountId });
    });
    return { status: 200, body: { recovery_codes: codes } };
  },
);
