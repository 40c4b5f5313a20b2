/** `GET /v1/oauth-clients`: the programs of an account. */

import { newestFirst, pageOf, pageQuery } from "../../kernel/cursors.ts";
import { endpoint } from "../../kernel/http/endpoint.ts";
import { closed } from "../../kernel/http/schema.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { reads, shared } from "../client-rules.ts";
import { listClients } from "../client-store.ts";
import { clientSchema, clientShape } from "../shapes.ts";

export const listOauthClients = endpoint(
  {
    ...shared,
    id: "oauth_clients.list",
    method: "GET",
    path: "/v1/oauth-clients",
    summary: "List the OAuth clients",
    description: "Newest first.",
    access: reads,
    query: closed({ ...pageQuery, ...newestFirst.query }),
    replies: { 200: { description: "A page.", body: pageOf(clientSchema, "OauthClientPage") } },
  },
  async (ctx, { principal, query }) => {
    const binding = { operation: "oauth_clients.list", filters: [principal.accountId], sorting: newestFirst };
    const page = ctx.cursors.start(query, binding);
    const rows = await ctx.read(rowAccessOf(principal), (tx) => listClients(tx, principal.accountId, page));
    return { status: 200, body: ctx.cursors.page(rows, query, binding, clientShape) };
  },
);
