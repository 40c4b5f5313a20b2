/** `POST /v1/me/totp`: begins the change to a new authenticator; needs the old one. */

import { findPerson } from "../../../accounts/index.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { Problem } from "../../../kernel/problems.ts";
import { enrolmentOf, newTotpSecret, sealTotp, setNextTotp, totpSetup } from "../../factors/index.ts";
import { personOf } from "../../sessions/index.ts";

export const beginTotp = endpoint(
  {
    id: "me.begin_totp",
    method: "POST",
    path: "/v1/me/totp",
    tag: "me",
    summary: "Set up a new authenticator",
    description:
      "Shows the secret of a new authenticator. The old one works until you send a code of the new one (`/v1/me/totp/confirm`).",
    access: { kind: "person", scope: "account:write" },
    stepUp: true,
    idempotency: "none",
    replies: { 200: { description: "The data for the authenticator.", body: totpSetup } },
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
