/** `POST /v1/oauth-clients/{id}/review`: an owner becomes responsible for a client in review. */

import { endpoint } from "../../kernel/http/endpoint.ts";
import { actorOf, rowAccessOf } from "../../kernel/principal.ts";
import { clientId, requireClient, shared } from "../client-rules.ts";
import { findClient, lockClient, reviewClient } from "../client-store.ts";
import { mailAboutChange } from "../mail-about-change.ts";
import { clientSchema, clientShape } from "../shapes.ts";

export const reviewOauthClient = endpoint(
  {
    ...shared,
    id: "oauth_clients.review",
    method: "POST",
    path: "/v1/oauth-clients/{id}/review",
    summary: "Review an OAuth client",
    description:
      "For a client with `review_since`: the member responsible for it was removed or demoted, or their password was reset. The client gets its scopes back, and you are responsible for it from now on. Its old secrets stay valid: rotate them if the former member may know one.",
    access: { kind: "account", scope: "account:write", roles: ["owner"] },
    stepUp: true,
    params: clientId,
    replies: { 200: { description: "The client.", body: clientSchema } },
  },
  async (ctx, { principal, params }) => {
    const { accountId, memberId } = principal;
    const row = await ctx.tx(rowAccessOf(principal), async (tx) => {
      const { review_since: since } = await requireClient(lockClient(tx, accountId, params.id));
      if (since !== null) await reviewClient(tx, accountId, params.id, memberId);
      const client = await requireClient(findClient(tx, accountId, params.id));
      if (since !== null) {
        tx.audit({ action: "oauth_client.reviewed", targets: [{ type: "oauth_client", id: params.id }] });
        await mailAboutChange(tx, ctx, { what: "client_changed", accountId, of: { client }, by: actorOf(principal) });
      }
      return client;
    });
    return { status: 200, body: clientShape(row) };
  },
);
