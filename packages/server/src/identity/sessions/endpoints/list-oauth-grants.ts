/** `GET /v1/oauth-grants`: the programs that members allowed to act for them, agents included. */

import { newestFirst, pageOf, pageQuery } from "../../../kernel/cursors.ts";
import { endpoint } from "../../../kernel/http/endpoint.ts";
import { closed } from "../../../kernel/http/schema.ts";
import { rowAccessOf } from "../../../kernel/principal.ts";
import { grantSchema, grantShape, grantTag } from "../grant-shapes.ts";
import { listGrants } from "../store.ts";

export const listOauthGrants = endpoint(
  {
    id: "oauth_grants.list",
    method: "GET",
    path: "/v1/oauth-grants",
    tag: grantTag,
    summary: "List the grants of members to programs",
    description: "Newest first, including agents.",
    access: { kind: "account", scope: "account:read", roles: ["owner", "manager"] },
    query: closed({ ...pageQuery, ...newestFirst.query }),
    replies: { 200: { description: "A page.", body: pageOf(grantSchema, "OauthGrantPage") } },
  },
  async (ctx, { principal, query }) => {
    const binding = { operation: "oauth_grants.list", filters: [principal.accountId], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read(rowAccessOf(principal), (tx) => listGrants(tx, principal.accountId, page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, grantShape) };
  },
);
