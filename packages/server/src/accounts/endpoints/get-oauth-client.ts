/** `GET /v1/oauth-clients/{id}`: one of them. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { rowAccessOf } from "../../kernel/principal.ts";
import { clientId, reads, requireClient, shared } from "../client-rules.ts";
import { findClient } from "../client-store.ts";
import { clientSchema, clientShape } from "../shapes.ts";

export const getOauthClient = endpoint(
  {
    ...shared,
    id: "oauth_clients.get",
    method: "GET",
    path: "/v1/oauth-clients/{id}",
    summary: "Read an OAuth client",
    description: "The answer has no secret. A secret is shown only once, when it is created.",
    access: reads,
    params: clientId,
    replies: { 200: { description: "The client.", body: clientSchema } },
  },
  async (ctx, { principal, params }) => {
    const row = await ctx.read(rowAccessOf(principal), (tx) =>
      requireClient(findClient(tx, principal.accountId, params.id)),
    );
    return { status: 200, body: clientShape(row) };
  },
);
