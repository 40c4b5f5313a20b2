/** `DELETE /v1/oauth-grants/{id}`: a program no longer acts for a member. */

import { endpoint } from "../../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../../kernel/principal.ts";
import { Problem } from "../../../kernel/problems.ts";
import { grantId, grantShape, grantTag, requireGrant } from "../grant-shapes.ts";
import { findGrant, revokeSession } from "../store.ts";

export const endOauthGrant = endpoint(
  {
    id: "oauth_grants.end",
    method: "DELETE",
    path: "/v1/oauth-grants/{id}",
    tag: grantTag,
    summary: "End a grant",
    description: "Its tokens are refused from now on. This also works while the account is suspended.",
    access: { kind: "account", scope: "account:write" },
    stepUp: true,
    whileSuspended: true,
    params: grantId,
    ifMatch: "optional",
    replies: { 204: { description: "It has ended.", empty: true } },
  },
  async (ctx, { principal, params, requireMatch }) => {
    await ctx.tx(rowAccessOf(principal), async (tx) => {
      requireMatch(grantShape(await requireGrant(findGrant(tx, principal.accountId, params.id))));
      if (!(await revokeSession(tx, params.id, "revoked"))) throw new Problem("not_found");
      tx.audit({ action: "oauth.grant_revoked", targets: [{ type: "session", id: params.id }] });
    });
    return { status: 204 };
  },
);
