/** `POST /v1/me/recovery-codes`: ten new ones. */

import { mailAboutChange } from "../../../accounts/index.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { actorOf } from "../../../kernel/principal.ts";
import { recoveryCodesReply, renewRecoveryCodes } from "../../factors/index.ts";
import { personOf } from "../../sessions/index.ts";

export const renewCodes = endpoint(
  {
    id: "me.renew_recovery_codes",
    method: "POST",
    path: "/v1/me/recovery-codes",
    tag: "me",
    summary: "Make new recovery codes",
    description: "The old codes stop working.",
    access: { kind: "person", scope: "account:write" },
    stepUp: true,
    idempotency: "none",
    replies: { 200: { description: "Ten new codes, shown only in this answer.", body: recoveryCodesReply } },
  },
  async (ctx, { principal }) => {
    const { personId, accountId, scope } = personOf(principal);
    const codes = await ctx.tx(scope, async (tx) => {
      tx.audit({ action: "person.recovery_codes_renewed", targets: [{ type: "person", id: personId }] });
      const change = { accountId, of: { person: personId }, by: actorOf(principal) };
      await mailAboutChange(tx, ctx, { what: "recovery_codes_renewed", ...change });
      return renewRecoveryCodes(tx, ctx, { id: personId, accountId });
    });
    return { status: 200, body: { recovery_codes: codes } };
  },
);
