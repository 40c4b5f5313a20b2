/** `POST /v1/oauth-grants/{id}/review`: an owner becomes responsible for a grant in review. */

import { mailAboutChange } from "../../../accounts/index.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { actorOf, rowAccessOf } from "../../../kernel/principal.ts";
import { grantId, grantSchema, grantShape, grantTag, requireGrant } from "../grant-shapes.ts";
import { findGrant, reviewGrant } from "../store.ts";

export const reviewOauthGrant = endpoint(
  {
    id: "oauth_grants.review",
    method: "POST",
    path: "/v1/oauth-grants/{id}/review",
    tag: grantTag,
    summary: "Review a grant",
    description:
      "For a grant with `review_since`: its member was removed or demoted, or replaced a password or second factor. The program gets its scopes back and acts for you from now on.",
    access: { kind: "account", scope: "account:write", roles: ["owner"] },
    stepUp: true,
    params: grantId,
    replies: { 200: { description: "The grant.", body: grantSchema } },
  },
  async (ctx, { principal, params }) => {
    const { accountId, memberId } = principal;
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const { review_since: since } = await requireGrant(findGrant(tx, accountId, params.id));
      if (since !== null) await reviewGrant(tx, accountId, params.id, memberId);
      const grant = await requireGrant(findGrant(tx, accountId, params.id));
      if (since !== null) {
        tx.audit({ action: "oauth.grant_reviewed", targets: [{ type: "session", id: params.id }] });
        const client = { name: grantShape(grant).client_name, responsible_id: memberId };
        await mailAboutChange(tx, ctx, { what: "client_changed", accountId, of: { client }, by: actorOf(principal) });
      }
      return grant;
    });
    return { status: 200, body: grantShape(row) };
  },
);
