/** `GET /v1/oauth-grants/{id}`: what a member allowed to one program. */

import { endpoint } from "../../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../../kernel/principal.ts";
import { grantId, grantSchema, grantShape, grantTag, requireGrant } from "../grant-shapes.ts";
import { findGrant } from "../store.ts";

export const getOauthGrant = endpoint(
  {
    id: "oauth_grants.get",
    method: "GET",
    path: "/v1/oauth-grants/{id}",
    tag: grantTag,
    summary: "Read a grant",
    description: "The ETag of the answer can be sent as `If-Match` when you end the grant.",
    access: { kind: "account", scope: "account:read", roles: ["owner", "manager"] },
    params: grantId,
    replies: { 200: { description: "The grant.", body: grantSchema } },
  },
  async (ctx, { principal, params }) => {
    const row = await ctx.read(rowAccessOf(principal), (tx) =>
      requireGrant(findGrant(tx, principal.accountId, params.id)),
    );
    return { status: 200, body: grantShape(row) };
  },
);
